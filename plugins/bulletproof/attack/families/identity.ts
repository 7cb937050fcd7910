import { randomUUID } from 'node:crypto'
import { sha256Hex } from 'zin/signing'
import { type Attack, accepted, refused } from '../attack.js'
import type { Credential, Kit } from '../kit.js'
import { userAgent } from '../kit.js'
import { withHeader } from '../wire.js'

const bind = 'Require device id = key id = the deviceId claim of the token.'
const owner = "Store the owner with each device, and require that it is the token's sub."
const namesNoDevice = (kit: Kit): string | undefined => (kit.bound ? undefined : 'the token has no deviceId claim')
const noKey = 'it needs tokens signed with the key of the app, and the app does not accept the key of this folder'
const noOther = 'it needs a second user; pass --other-email or --other-key-id'

function me(kit: Kit, change: Partial<Credential>): Credential {
  return { ...kit.parts.me, ...change }
}

/** Valid keys other than that of the device in the token. */
function signersBeside(kit: Kit): readonly Omit<Credential, 'token'>[] {
  const { me: own, second, other, shared, sharedSecret } = kit.parts
  return [
    ...[second, other].filter((caller) => caller !== undefined),
    ...(shared ? [{ ...own, keyId: `zin-attack-${randomUUID().slice(0, 8)}` }] : []),
    ...(sharedSecret === undefined ? [] : [{ keyId: 'zin-cli', secret: sharedSecret }]),
  ]
}

/** Combine valid credentials of different callers. */
export const identityAttacks: readonly Attack[] = [
  {
    name: 'key:renamed',
    hole: 'a token issued for one device is accepted with another key id',
    fix: bind,
    unless: namesNoDevice,
    rounds: (kit) => [refused(kit.sign({ as: me(kit, { keyId: `zin-attack-${randomUUID().slice(0, 8)}` }) }))],
  },
  {
    name: 'key:device-id',
    hole: 'the device id header may differ from the key id',
    fix: bind,
    rounds: (kit) => {
      const { names, me: own } = kit.parts
      const others = ['zin-attack-device', own.keyId.slice(0, -1) || 'x', `${own.keyId}x`]
      return [refused(...others.map((id) => withHeader(kit.sign(), names.deviceId, id)))]
    },
  },
  {
    name: 'key:of-another',
    hole: 'another key may sign for the device in the header and the token',
    fix: bind,
    unless: (kit) => namesNoDevice(kit) ?? (signersBeside(kit).length === 0 ? 'a second key is required; log in with --email' : undefined),
    rounds: (kit) => {
      const { names, me: own } = kit.parts
      const requests = signersBeside(kit).map(({ keyId, secret }) => kit.sign({ as: { keyId, secret, token: own.token } }))
      return [refused(...requests.map((request) => withHeader(request, names.deviceId, own.keyId)))]
    },
  },
  {
    name: 'key:guessable',
    hole: 'a guessable secret is accepted: empty, a common word, the key id or the token',
    fix: 'Refuse an empty secret, and give every device 32 random bytes.',
    rounds: (kit) => {
      const { keyId, token } = kit.parts.me
      const guesses = ['', 'secret', 'changeme', 'undefined', 'null', keyId, token, `Bearer ${token}`]
      return [refused(...guesses.map((secret) => kit.sign({ as: me(kit, { secret }) })))]
    },
  },
  {
    name: 'key:unknown',
    hole: 'an unknown key id is accepted with any secret',
    fix: 'Refuse key ids without a secret; verify their MAC against a random key, so that it takes the same time.',
    rounds: (kit) => {
      const secret = randomUUID()
      const ids = ['__proto__', 'constructor', `zin-attack-${secret.slice(0, 8)}`]
      return [refused(...ids.map((keyId) => kit.sign({ as: me(kit, { keyId, secret }) })))]
    },
  },
  {
    name: 'device:other-of-user',
    hole: "another device of the user can use this device's token, or sign on its behalf",
    fix: bind,
    unless: (kit) => (kit.parts.second === undefined ? 'a second device of the user is required; log in with --email' : namesNoDevice(kit)),
    rounds: (kit) => {
      const { second, me: own } = kit.parts
      const { keyId, secret } = second as Credential
      return [
        accepted(kit.sign({ as: second as Credential })),
        refused(kit.sign({ as: { keyId, secret, token: own.token } }), kit.sign({ as: me(kit, { secret }) })),
      ]
    },
  },
  {
    name: 'user:borrowed-token',
    hole: "one user's token works with another user's device",
    fix: owner,
    unless: (kit) => (kit.parts.other === undefined ? noOther : undefined),
    rounds: (kit) => {
      const { other, me: own } = kit.parts
      const { keyId, secret, token } = other as Credential
      return [
        accepted(kit.sign({ as: other as Credential })),
        refused(
          kit.sign({ as: me(kit, { token }) }),
          kit.sign({ as: { keyId, secret, token: own.token } }),
          kit.sign({ as: me(kit, { secret }) }),
        ),
      ]
    },
  },
  {
    name: 'user:stolen-token-without-device',
    hole: "a stolen token without a deviceId claim works with any other user's device",
    fix: owner,
    unless: (kit) => (kit.parts.shared ? 'the shared secret signs for every user' : kit.parts.mint === undefined ? noKey : undefined),
    rounds: async (kit) => {
      const { mint } = kit.parts
      const token = (await mint?.({ ...ownClaims(kit), sub: `zin-attack-${randomUUID()}`, deviceId: undefined })) ?? ''
      return [refused(kit.sign({ as: me(kit, { token }) }))]
    },
  },
  {
    name: 'binding:time-zone',
    hole: 'a token bound to a time zone is accepted without one, or from another one',
    fix: 'Compare the time zone header with the tz claim whenever the claim is present.',
    unless: (kit) => (kit.parts.mint === undefined && kit.claims.tz === undefined ? noKey : undefined),
    rounds: async (kit) => {
      const { mint, me: own, names } = kit.parts
      const token = kit.claims.tz === undefined ? ((await mint?.({ ...ownClaims(kit), tz: 'Europe/Paris' })) ?? '') : own.token
      const as = me(kit, { token })
      return [
        accepted(kit.sign({ as }), noKey),
        refused(withHeader(kit.sign({ as }), names.timezone, 'Pacific/Niue'), withHeader(kit.sign({ as }), names.timezone, undefined)),
      ]
    },
  },
  {
    name: 'binding:user-agent',
    hole: 'a token bound to a user agent is accepted without one, or from another one',
    fix: 'Compare the SHA-256 of User-Agent with the uaHash claim whenever the claim is present.',
    unless: (kit) => (kit.parts.mint === undefined && kit.claims.uaHash === undefined ? noKey : undefined),
    rounds: async (kit) => {
      const { mint, me: own } = kit.parts
      const token =
        kit.claims.uaHash === undefined ? ((await mint?.({ ...ownClaims(kit), uaHash: sha256Hex(userAgent) })) ?? '') : own.token
      const as = me(kit, { token })
      return [
        accepted(kit.sign({ as }), noKey),
        refused(withHeader(kit.sign({ as }), 'user-agent', 'another/1'), withHeader(kit.sign({ as }), 'user-agent', undefined)),
      ]
    },
  },
]

/** The claims to mint a token with; the issuer sets the registered ones. */
export function ownClaims(kit: Kit): Readonly<Record<string, unknown>> {
  const registered = new Set(['iss', 'aud', 'jti', 'iat', 'exp', 'nbf'])
  return Object.fromEntries(Object.entries(kit.claims).filter(([name]) => !registered.has(name)))
}
