import type { Logger } from 'zin'
import { checkPublicKey, type Devices } from 'zin/plugins/bulletproof'
import type { Claims, Tokens } from 'zin/plugins/jwt'
import { sha256Hex } from 'zin/signing'
import type { CheckedUser } from './accounts.js'
import { loginErrors } from './errors.js'
import type { Throttle } from './throttle.js'

export interface LoginRequest {
  readonly email: string
  readonly password: string
  readonly deviceId?: string | undefined
  /** Base64url of a raw Ed25519 key; the device then gets no secret. */
  readonly devicePublicKey?: string | undefined
  /** Of the client, as the connection or a trusted proxy says. */
  readonly address: string
  readonly timezone?: string | undefined
  readonly userAgent?: string | undefined
}

export interface LoginAnswer {
  readonly jwt: string
  readonly deviceId: string
  /** Empty for a device with a public key. */
  readonly deviceSecret: string
}

export interface LoginParts {
  readonly verify: (email: string, password: string) => Promise<CheckedUser | undefined>
  readonly tokens: () => Tokens
  readonly devices: () => Devices
  readonly throttle: Throttle
  readonly bindTimezone: boolean
  readonly bindUserAgent: boolean
  readonly log: Logger
}

/** Begins and ends sessions. Knows nothing of HTTP. */
export interface Login {
  /** Throws DEVICE_PUBLIC_KEY_INVALID, RATE_LIMITED, INVALID_CREDENTIALS, LOGIN_BUSY, AUTH_STORE_UNAVAILABLE. */
  login(request: LoginRequest): Promise<LoginAnswer>
  /** Ends this token, then this device. */
  logout(claims: Claims, deviceId: string | undefined): Promise<void>
  /** Ends every token and every device of the user. */
  logoutAll(claims: Claims): Promise<void>
}

const zoneGrammar = /^[A-Za-z0-9_+\-/]{1,64}$/

export function createLogin(parts: LoginParts): Login {
  const { verify, tokens, devices, throttle, log } = parts

  const bindings = ({ timezone, userAgent }: LoginRequest): { tz?: string; uaHash?: string } => ({
    ...(parts.bindTimezone && timezone !== undefined && zoneGrammar.test(timezone) && { tz: timezone }),
    ...(parts.bindUserAgent && userAgent !== undefined && { uaHash: sha256Hex(userAgent) }),
  })

  /** An id that is nobody's may be the one of a service with the shared secret: whoever signs in does not choose it. */
  const ownDevice = async (userId: string, wanted: string | undefined): Promise<string | undefined> => {
    const known = wanted === undefined ? undefined : await devices().get(wanted)
    return known?.userId === userId ? wanted : undefined
  }

  return {
    async login(request) {
      const { email, password, deviceId: wanted, devicePublicKey: publicKey, address } = request
      // First, for it costs nothing and says nothing of the password: no attempt is counted.
      if (publicKey !== undefined) checkPublicKey(publicKey)
      await throttle.attempt(email, { address, deviceId: wanted })
      const user = await verify(email, password)
      if (user === undefined) {
        log.info({ address }, 'login refused')
        throw loginErrors.INVALID_CREDENTIALS()
      }
      const userId = String(user.id)
      const { device, secret } = await devices().enroll({ userId, deviceId: await ownDevice(userId, wanted), publicKey })
      const { deviceId } = device
      const issued = await tokens().issue({ sub: user.id, email: user.email, role: user.role, deviceId, ...bindings(request) })
      // Who is disabled or gets a new password from now on loses this session with all others; until now it was not there to end.
      if (!(await user.stands())) {
        await tokens().revoke(issued.claims)
        await devices().remove(deviceId)
        throw loginErrors.INVALID_CREDENTIALS()
      }
      await throttle.succeeded(email, { address, deviceId })
      log.info({ userId: user.id, keyIdHash: hashOf(deviceId) }, 'logged in')
      return { jwt: issued.token, deviceId, deviceSecret: secret }
    },

    async logout(claims, deviceId) {
      await tokens().revoke(claims)
      if (deviceId !== undefined && claims.sub !== undefined) await devices().remove(deviceId, String(claims.sub))
      log.info({ userId: claims.sub, keyIdHash: deviceId && hashOf(deviceId) }, 'logged out')
    },

    async logoutAll(claims) {
      await tokens().revoke(claims)
      if (claims.sub === undefined) return
      await tokens().revokeUser(claims.sub)
      await devices().removeAll(String(claims.sub))
      log.info({ userId: claims.sub }, 'logged out everywhere')
    },
  }
}

/** As bulletproof logs the key ids of requests, so that lines of one device can be found. */
function hashOf(deviceId: string): string {
  return sha256Hex(deviceId).slice(0, 16)
}
