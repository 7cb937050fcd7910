import { type Attack, accepted, refused } from '../attack.js'
import type { Credential, Kit, MessageCredential, Sessions } from '../kit.js'
import { message, withSecret } from '../message.js'
import { ownClaims } from './identity.js'

const noSessions = (kit: Kit): string | undefined =>
  kit.parts.sessions === undefined ? 'it needs more sessions of the user; log in with --email' : undefined
const noLogin = 'the app refuses another login of the user'
const noMessages = 'the app does not accept requests signed by RFC 9421'
const revocation = 'Store the jti of a logged-out token until its exp, and check it on every request.'
const tombstone = 'Remember the ids of removed devices for longer than the lifetime of a token, and accept no other secret for them.'

/** The token of a session that was logged out, and its device, enrolled again so that only the revocation can refuse the token. */
async function loggedOut(kit: Kit): Promise<{ readonly renewed: Credential; readonly revoked: Credential } | string> {
  const { begin, end } = kit.parts.sessions as Sessions
  const ended = await begin()
  if (ended === undefined) return noLogin
  if (!(await end(ended))) return 'the app does not accept POST /auth/logout'
  const renewed = await begin({ deviceId: ended.keyId })
  if (renewed === undefined) return noLogin
  if (renewed.keyId !== ended.keyId) return 'after a logout, the device gets another id'
  return { renewed, revoked: { ...renewed, token: ended.token } }
}

/** A device that another device removed, with its token, which is not revoked. */
async function removed(kit: Kit): Promise<Credential | string> {
  const { begin, remove } = kit.parts.sessions as Sessions
  const device = await begin()
  if (device === undefined) return noLogin
  return (await remove(kit.parts.me, device.keyId)) ? device : 'the app does not accept DELETE /auth/devices/:id'
}

/** Use sessions that have ended. */
export const sessionAttacks: readonly Attack[] = [
  {
    name: 'session:revoked-token',
    hole: 'a token is accepted after logout',
    fix: revocation,
    unless: noSessions,
    rounds: async (kit) => {
      const found = await loggedOut(kit)
      if (typeof found === 'string') return found
      return [accepted(kit.sign({ as: found.renewed })), refused(kit.sign({ as: found.revoked }))]
    },
  },
  {
    name: 'session:removed-device',
    hole: 'a removed device can still sign',
    fix: 'Erase the secret of a device when it is removed, and do not cache it beyond a request.',
    unless: noSessions,
    rounds: async (kit) => {
      const device = await removed(kit)
      if (typeof device === 'string') return device
      return [refused(kit.sign({ as: device }), message(kit, withSecret(device)))]
    },
  },
  {
    name: 'session:removed-device-shared',
    hole: 'the shared secret is accepted for the id of a removed device',
    fix: tombstone,
    unless: (kit) =>
      noSessions(kit) ??
      (kit.parts.sharedSecret === undefined || kit.parts.mint === undefined
        ? 'it needs the secrets of the app; run it in the folder of the app'
        : undefined),
    rounds: async (kit) => {
      const { mint, sharedSecret: secret = '' } = kit.parts
      const caller = { keyId: 'zin-cli', secret, token: (await mint?.({ ...ownClaims(kit), deviceId: 'zin-cli' })) ?? '' }
      const device = await removed(kit)
      if (typeof device === 'string') return device
      const as = { ...device, secret }
      return [
        accepted(kit.sign({ as: caller }), 'the app does not accept the shared secret of this folder'),
        refused(kit.sign({ as }), message(kit, withSecret(as))),
      ]
    },
  },
  {
    name: 'message:revoked-token',
    hole: 'a token is accepted after logout from a device that signs by RFC 9421',
    fix: revocation,
    unless: noSessions,
    rounds: async (kit) => {
      const found = await loggedOut(kit)
      if (typeof found === 'string') return found
      return [accepted(message(kit, withSecret(found.renewed)), noMessages), refused(message(kit, withSecret(found.revoked)))]
    },
  },
  {
    name: 'message:weak-key',
    hole: 'a device may enroll a public key of small order, for which one signature is valid for any message',
    fix: 'Refuse points of small order and non-canonical encodings before a key is enrolled.',
    unless: noSessions,
    rounds: async (kit) => {
      const { begin } = kit.parts.sessions as Sessions
      const devices: MessageCredential[] = []
      for (const publicKey of smallOrderKeys) {
        const device = await begin({ devicePublicKey: publicKey })
        if (device?.secret === '') devices.push({ ...device, alg: 'ed25519', publicKey, sign: () => constantSignature })
      }
      // For a point of order n, the constant signature is valid for one message in n on average.
      return [refused(...devices.flatMap((as) => Array.from({ length: 16 }, () => message(kit, as))))]
    },
  },
]

/** The neutral element, the same with an encoding that is not canonical, and a point of order 8. */
const smallOrderKeys = [
  `01${'00'.repeat(31)}`,
  `ee${'ff'.repeat(30)}7f`,
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].map((hex) => Buffer.from(hex, 'hex').toString('base64url'))

/** R is the neutral element and S is 0. */
const constantSignature = Buffer.from(`01${'00'.repeat(63)}`, 'hex')
