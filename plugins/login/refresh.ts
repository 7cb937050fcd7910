import { randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { type Clock, type Logger, type Manage, messageOf, ZinError } from 'zin'
import type { Devices } from 'zin/plugins/bulletproof'
import type { Claims, Tokens } from 'zin/plugins/jwt'
import { sha256Hex } from 'zin/signing'
import { loginErrors } from './errors.js'
import type { VerifiedUser } from './options.js'
import type { RefreshFamily, RefreshStore } from './store/refresh.js'

export interface RefreshParts {
  readonly store: RefreshStore
  readonly tokens: () => Tokens
  readonly devices: () => Devices
  /** The user as of now; `undefined` when it is gone or disabled, `'unknown'` when nobody can tell. */
  readonly userOf: (id: string | number) => Promise<VerifiedUser | undefined | 'unknown'>
  /** ms. */
  readonly idleMs: number
  /** ms. */
  readonly maxMs: number
  readonly clock: Clock
  readonly manage: Manage
  readonly log: Logger
}

export interface Pair {
  readonly jwt: string
  readonly refreshToken: string
}

/** Refresh tokens: each is valid once and is replaced by the next one of its family. */
export interface RefreshTokens {
  /** Starts the family of a login, which replaces an earlier one of the device. */
  start(claims: Claims, deviceId: string): Promise<string>
  /**
   * Throws REFRESH_TOKEN_INVALID. A token that was used before also ends its family: its tokens are revoked and its device is removed.
   * @param signedBy the device that signed the request, if it is signed.
   */
  refresh(refreshToken: string, signedBy?: string): Promise<Pair>
  /** Ends the family of a device, and revokes the tokens that it gave. */
  end(deviceId: string, userId: string): Promise<void>
  endUser(userId: string): Promise<void>
  sweep(): Promise<void>
}

/** How many access tokens of a family can be valid at a time; a further one revokes the oldest. */
const mostIssued = 20
const grammar = /^([A-Za-z0-9_.:-]{1,128})~([0-9a-f-]{36})~([A-Za-z0-9_-]{43})$/

export function createRefreshTokens(parts: RefreshParts): RefreshTokens {
  const { store, tokens, devices, clock, log } = parts

  const next = (family: Omit<RefreshFamily, 'hash' | 'expiresAt'>): { readonly family: RefreshFamily; readonly token: string } => {
    const secret = randomBytes(32).toString('base64url')
    const expiresAt = Math.min(clock.now() + parts.idleMs, family.endsAt)
    return {
      // The secret has 256 bits, so a plain hash is enough.
      family: { ...family, hash: sha256Hex(secret), expiresAt },
      token: `${family.deviceId}~${family.family}~${secret}`,
    }
  }

  const revoke = async ({ claims: { sub } }: RefreshFamily, issued: RefreshFamily['issued']): Promise<void> => {
    const owner = sub === undefined ? {} : { sub: sub as string | number }
    for (const [jti, exp] of issued) await tokens().revoke({ ...owner, jti, exp, iat: 0, iss: '', aud: '' })
  }

  /** Ends the family before its tokens, so that it gives no further ones: also one that a refresh got since it was read. */
  const end = async (family: RefreshFamily): Promise<void> => {
    const ended = await store.end(family)
    await revoke(family, [...new Map([...family.issued, ...(ended?.issued ?? [])])])
  }

  const reused = async (family: RefreshFamily): Promise<void> => {
    const { userId, deviceId } = family
    const actor = { kind: 'user', id: userId, device: deviceId, via: 'http' } as const
    const reason = 'a refresh token was used a second time'
    log.warn({ userId, keyIdHash: sha256Hex(deviceId).slice(0, 16) }, `${reason}; its session is ended`)
    await parts.manage({ action: 'refresh-token.reuse', target: `user:${userId}`, actor, reason }, async () => {
      // Last, because as long as the family exists, another use tries all of it again.
      await devices().remove(deviceId, userId)
      await end(family)
    })
  }

  /** The family of a token that is valid. Throws the reason for the log otherwise. */
  const familyOf = async (refreshToken: string, signedBy: string | undefined): Promise<RefreshFamily> => {
    const [, deviceId = '', id, secret = ''] = grammar.exec(refreshToken) ?? []
    if (id === undefined) throw loginErrors.REFRESH_TOKEN_INVALID('it is malformed')
    const family = await store.find(deviceId)
    if (family === undefined || family.family !== id) throw loginErrors.REFRESH_TOKEN_INVALID('its session has ended')
    if (family.expiresAt <= clock.now()) {
      await store.end(family)
      throw loginErrors.REFRESH_TOKEN_INVALID('it has expired')
    }
    if (!timingSafeEqual(Buffer.from(family.hash), Buffer.from(sha256Hex(secret)))) {
      await reused(family)
      throw loginErrors.REFRESH_TOKEN_INVALID('it was used before')
    }
    if (signedBy !== undefined && signedBy !== deviceId) throw loginErrors.REFRESH_TOKEN_INVALID('another device signed the request')
    const device = await devices().get(deviceId)
    if (device === undefined || device.removedAt !== undefined || device.userId !== family.userId) {
      await end(family)
      throw loginErrors.REFRESH_TOKEN_INVALID('its device was removed')
    }
    return family
  }

  /** The claims of the next token: the user as of now, and what the login bound it to. */
  const claimsOf = async (family: RefreshFamily): Promise<RefreshFamily['claims']> => {
    const user = await parts.userOf(family.claims.sub as string | number)
    if (user === 'unknown') return family.claims
    if (user !== undefined) return { ...family.claims, email: user.email, role: user.role }
    // Whoever disabled the user may not have ended the other credentials. The family comes last, so that another use tries again.
    await tokens().revokeUser(family.userId)
    await end(family)
    throw loginErrors.REFRESH_TOKEN_INVALID('its user is gone or disabled')
  }

  const refresh = async (refreshToken: string, signedBy: string | undefined): Promise<Pair> => {
    const before = await familyOf(refreshToken, signedBy)
    const claims = await claimsOf(before)
    // Issued before the rotation: a revocation of the user from here on also covers it, or has deleted the family.
    const { token: jwt, claims: issued } = await tokens().issue(claims)
    const live = [...before.issued.filter(([, exp]) => exp * 1000 > clock.now()), [issued.jti, issued.exp] as const]
    const after = next({ ...before, claims, issued: live.slice(-mostIssued) })
    if (!(await store.rotate(before, after.family))) {
      const now = await store.find(before.deviceId)
      if (now !== undefined && now.family === before.family) await reused(now)
      throw loginErrors.REFRESH_TOKEN_INVALID('it was used at the same time')
    }
    await revoke(after.family, live.slice(0, -mostIssued))
    return { jwt, refreshToken: after.token }
  }

  return {
    async start({ jti, exp, iat: _iat, iss: _iss, aud: _aud, ...claims }, deviceId) {
      const begun = {
        deviceId,
        userId: String(claims.sub),
        family: randomUUID(),
        claims,
        issued: [[jti, exp] as const],
        endsAt: clock.now() + parts.maxMs,
      }
      const { family, token } = next(begun)
      await store.put(family)
      return token
    },

    async refresh(refreshToken, signedBy) {
      try {
        return await refresh(refreshToken, signedBy)
      } catch (error) {
        if (error instanceof ZinError && error.status === 401) log.info({ reason: messageOf(error.cause ?? error) }, 'refresh refused')
        throw error
      }
    },

    async end(deviceId, userId) {
      const family = await store.find(deviceId)
      if (family?.userId === userId) await end(family)
    },
    async endUser(userId) {
      await store.endUser(
        userId,
        (await devices().list(userId)).map(({ deviceId }) => deviceId),
      )
    },
    sweep: () => store.sweep(clock.now()),
  }
}
