import { type Logger, messageOf } from 'zin'
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
  /** Address of the client, from the connection or a trusted proxy. */
  readonly address: string
  readonly timezone?: string | undefined
  readonly userAgent?: string | undefined
}

export interface LoginResult {
  readonly jwt: string
  readonly deviceId: string
  /** Empty for a device with a public key. */
  readonly deviceSecret: string
  /** Claims of the token. */
  readonly claims: Claims
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

/** Starts and ends sessions, independent of HTTP. */
export interface Login {
  /**
   * `onLogin` is called with the user and the device of the session. Throws DEVICE_PUBLIC_KEY_INVALID, RATE_LIMITED, INVALID_CREDENTIALS,
   * LOGIN_BUSY, AUTH_STORE_UNAVAILABLE.
   */
  login(request: LoginRequest, onLogin?: (session: { readonly userId: string; readonly deviceId: string }) => void): Promise<LoginResult>
  /** Revokes this token, then removes this device. */
  logout(claims: Claims, deviceId: string | undefined): Promise<void>
  /** Revokes every token and removes every device of the user. */
  logoutAll(claims: Claims): Promise<void>
}

const zoneGrammar = /^[A-Za-z0-9_+\-/]{1,64}$/

export function createLogin(parts: LoginParts): Login {
  const { verify, tokens, devices, throttle, log } = parts

  const bindings = ({ timezone, userAgent }: LoginRequest): { tz?: string; uaHash?: string } => ({
    ...(parts.bindTimezone && timezone !== undefined && zoneGrammar.test(timezone) && { tz: timezone }),
    ...(parts.bindUserAgent && userAgent !== undefined && { uaHash: sha256Hex(userAgent) }),
  })

  /** An unknown id may be the key id of a service with the shared secret, so a client cannot choose it. */
  const ownDevice = async (userId: string, wanted: string | undefined): Promise<string | undefined> => {
    const known = wanted === undefined ? undefined : await devices().get(wanted)
    return known?.userId === userId ? wanted : undefined
  }

  /** Nobody knows the secret of a new device whose login failed. */
  const discard = async (userId: string, deviceId: string): Promise<void> => {
    await devices()
      .remove(deviceId, userId)
      .catch((error: unknown) => log.debug({ keyIdHash: hashOf(deviceId), why: messageOf(error) }, 'an unused device was not removed'))
  }

  return {
    async login(request, onLogin) {
      const { email, password, deviceId: wanted, devicePublicKey: publicKey, address } = request
      // First, because it is cheap and reveals nothing about the password: it does not count as an attempt.
      if (publicKey !== undefined) checkPublicKey(publicKey)
      await throttle.attempt(email, { address, deviceId: wanted })
      const user = await verify(email, password)
      if (user === undefined) {
        log.info({ address }, 'login refused')
        throw loginErrors.INVALID_CREDENTIALS()
      }
      const userId = String(user.id)
      const own = await ownDevice(userId, wanted)
      const { device, secret } = await devices().enroll({ userId, deviceId: own, publicKey })
      const { deviceId } = device
      const grant = { sub: user.id, email: user.email, role: user.role, deviceId, ...bindings(request) }
      const issued = await tokens()
        .issue(grant)
        .catch(async (error: unknown) => {
          if (deviceId !== own) await discard(userId, deviceId)
          throw error
        })
      // A change of the user from here on ends this session, too; one during the login did not, because the session did not exist.
      if (!(await user.stands())) {
        await tokens().revoke(issued.claims)
        await devices().remove(deviceId)
        throw loginErrors.INVALID_CREDENTIALS()
      }
      await throttle.succeeded(email, { address, deviceId })
      onLogin?.({ userId, deviceId })
      log.info({ userId: user.id, keyIdHash: hashOf(deviceId) }, 'logged in')
      return { jwt: issued.token, deviceId, deviceSecret: secret, claims: issued.claims }
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

/** In the form in which bulletproof logs key ids, so that log lines of one device can be correlated. */
function hashOf(deviceId: string): string {
  return sha256Hex(deviceId).slice(0, 16)
}
