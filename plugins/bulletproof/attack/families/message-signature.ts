import { createHmac, randomUUID } from 'node:crypto'
import { type Attack, accepted, refused } from '../attack.js'
import { type MessageCredential, userAgent } from '../kit.js'
import { message } from '../message.js'
import { headerOf, type WireRequest, withHeader } from '../wire.js'
import { byV1, changedIn, exact, messageAttack, secretsOf, together, twice } from './message-attack.js'
import { raceCopies } from './replay.js'

/** Requests signed by RFC 9421 with several or malformed signatures, with other keys, or by another profile as well. */
export const messageSignatureAttacks: readonly Attack[] = [
  messageAttack(
    'several-signatures',
    'a request may carry several signatures, of which one is verified and another used',
    exact,
    (sign, { alg }) => {
      const zeros = Buffer.alloc(alg === 'ed25519' ? 64 : 32).toString('base64')
      const wrong = (label: string): WireRequest => changedIn(sign({ label }), 'signature', (text) => text.replace(/:[^:]+:/, `:${zeros}:`))
      const good = sign()
      const [input, signature] = ['signature-input', 'signature'].map((name) => headerOf(good, name) ?? '') as [string, string]
      return [
        refused(
          together(sign({ label: 'a' }), sign({ label: 'b' })),
          together(sign({ label: 'a' }), wrong('b')),
          together(wrong('a'), sign({ label: 'b' })),
        ),
        // The same label twice: within one field, and in two fields.
        refused(together(sign(), sign()), together(wrong('zin'), sign()), together(sign(), wrong('zin'))),
        refused(twice(sign(), 'signature-input', input), twice(sign(), 'signature', signature), twice(good, 'Signature', 'zin=:AAAA:')),
        refused(
          withHeader(sign(), 'signature', undefined),
          withHeader(sign(), 'signature-input', undefined),
          changedIn(sign(), 'signature', (text) => `b${text}`),
        ),
      ]
    },
  ),
  messageAttack(
    'odd-signature',
    'a signature is accepted in several encodings, or truncated',
    'Accept canonical base64 only, with exactly the signature length of the algorithm.',
    (sign, { alg }) => {
      const bytes = (text: string): Buffer => Buffer.from(/:([^:]*):/.exec(text)?.[1] ?? '', 'base64')
      const as = (made: (bytes: Buffer) => string) => changedIn(sign(), 'signature', (text) => `zin=${made(bytes(text))}`)
      const size = alg === 'ed25519' ? 64 : 32
      return [
        refused(
          ...[0, size - 1].map((at) =>
            as((all) => `:${Buffer.from(all.map((byte, index) => (index === at ? byte ^ 1 : byte))).toString('base64')}:`),
          ),
          as(() => '::'),
          as(() => `:${Buffer.alloc(size).toString('base64')}:`),
          as((all) => `:${all.subarray(0, size / 2).toString('base64')}:`),
          as((all) => `:${Buffer.concat([all, Buffer.alloc(1)]).toString('base64')}:`),
          as((all) => `:${all.toString('base64').replace(/=+$/, '')}:`),
          as((all) => `"${all.toString('base64')}"`),
          as((all) => all.toString('hex')),
          as((all) => `:${all.toString('base64')}:;zin`),
        ),
      ]
    },
  ),
  messageAttack(
    'key-confusion',
    'a public key or an empty key is used as a secret, or one algorithm for another',
    'Derive the algorithm from the key: a secret verifies HMACs, a public key Ed25519.',
    (_sign, as, kit) => {
      const secrets = ['', as.keyId, ...(as.publicKey === undefined ? [] : secretsOf(as))]
      const hmac = (secret: string): MessageCredential => ({ ...as, sign: (text) => createHmac('sha256', secret).update(text).digest() })
      return [
        refused(
          ...secrets.map((secret) => message(kit, hmac(secret), { alg: 'hmac-sha256' })),
          ...['ed25519', 'none', 'rsa-pss-sha512', 'HMAC-SHA256'].filter((alg) => alg !== as.alg).map((alg) => message(kit, as, { alg })),
          message(kit, { ...as, sign: () => Buffer.alloc(64) }, { alg: 'ed25519' }),
        ),
      ]
    },
  ),
  messageAttack(
    'other-key',
    'the device id, the key id and the token may belong to different devices',
    'Require device id = key id = the deviceId claim of the token, and the owner of the device = sub.',
    (sign, as, kit) => {
      const { me, second, other } = kit.parts
      const callers = [me, second, other].flatMap((caller) => (caller === undefined || caller.keyId === as.keyId ? [] : [caller]))
      const signers = (kit.parts.messages ?? []).filter(({ keyId }) => keyId !== as.keyId)
      return [
        refused(
          sign({ deviceId: 'zin-attack' }),
          // Signed with the key of another device of the user, for the device in the header and the token.
          ...signers.map((signer) => message(kit, { ...signer, token: as.token }, { deviceId: as.keyId })),
          ...callers.flatMap(({ keyId, token }) => [
            sign({ deviceId: keyId }),
            sign({ keyId, deviceId: keyId }),
            ...(kit.parts.shared ? [] : [message(kit, { ...as, token })]),
          ]),
        ),
      ]
    },
  ),
  messageAttack(
    'both-profiles',
    'a request may be signed in two ways, of which one is verified and the other used',
    'Refuse a request that carries the five headers and a signature by RFC 9421.',
    (sign, as, kit) => {
      const { names } = kit.parts
      const both = (five: WireRequest): WireRequest => ({
        ...sign(),
        headers: [...sign().headers, ...five.headers.filter(([name]) => own.has(name))],
      })
      const own = new Set([names.keyId, names.timestamp, names.nonce, names.bodySha256, names.signature])
      return [refused(...secretsOf(as).map((secret) => both(byV1(kit, as, secret))), withHeader(sign(), names.keyId, as.keyId))]
    },
  ),
  messageAttack(
    'downgrade',
    'a device that signs by RFC 9421 can be downgraded to the profile that covers less',
    'Store with the device that it signed by RFC 9421 before the first response, and refuse v1 from then on.',
    (sign, as, kit) => (kit.parts.shared ? [] : [refused(...secretsOf(as).map((secret) => byV1(kit, as, secret))), accepted(sign())]),
  ),
  messageAttack(
    'replay',
    'a message can be sent again',
    'Claim the nonce atomically once signature and body hash match, and keep it until created + window.',
    (sign, as, kit) => {
      const nonce = randomUUID()
      const request = sign({ nonce })
      const inV1 = kit.parts.shared ? [refused(kit.sign({ as: { keyId: as.keyId, token: as.token, secret: as.secret ?? '' }, nonce }))] : []
      return [
        accepted(request),
        refused(request, request, sign({ nonce })),
        ...inV1,
        { requests: Array.from<WireRequest>({ length: raceCopies }).fill(sign()), expect: 'once' },
      ]
    },
  ),
  messageAttack(
    'unsigned-extras',
    'an uncovered header changes the identity of the caller or the request',
    'Refuse X-HTTP-Method-Override, and derive the caller from the token alone.',
    (sign) => {
      const wrong = withHeader(sign(), 'signature', `zin=:${Buffer.alloc(32).toString('base64')}:`)
      return [
        refused(
          withHeader(sign(), 'x-http-method-override', 'DELETE'),
          withHeader(wrong, 'x-forwarded-user', userAgent),
          withHeader(wrong, 'x-verified', '1'),
        ),
      ]
    },
  ),
]
