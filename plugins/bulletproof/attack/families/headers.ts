import { randomUUID } from 'node:crypto'
import type { SignatureHeaderNames } from 'zin/signing'
import { type Attack, accepted, refused, rejected } from '../attack.js'
import type { Kit } from '../kit.js'
import { headerOf, type WireRequest, withHeader } from '../wire.js'
import { flip } from './fields.js'

const once = 'Read rawHeaders, and refuse a request that repeats a signature, token, host or content header.'
const strict = 'Accept exactly 64 characters of lower-case hex, and compare bytes.'
const keys = [
  'keyId',
  'timestamp',
  'nonce',
  'bodySha256',
  'signature',
  'deviceId',
] as const satisfies readonly (keyof SignatureHeaderNames)[]

/** The valid header, with another one of the same name before or after it. */
function twice(request: WireRequest, name: string): readonly WireRequest[] {
  const good = headerOf(request, name) ?? 'text/plain'
  const bad = flip(good, -1)
  const rest = withHeader(request, name, undefined)
  return [
    [good, good],
    [good, bad],
    [bad, good],
  ].map((values) => ({
    ...rest,
    headers: [...rest.headers, ...values.map((value): [string, string] => [name, value])],
  }))
}

function ofSignature(kit: Kit, change: (value: string) => string): WireRequest {
  const request = kit.sign()
  const { signature } = kit.parts.names
  return withHeader(request, signature, change(headerOf(request, signature) ?? ''))
}

const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64')

/** Send headers twice, in other encodings, too long, or with another meaning. */
export const headerAttacks: readonly Attack[] = [
  {
    name: 'twice:signature-headers',
    hole: 'a repeated signature header is accepted, so two readers can see different requests',
    fix: once,
    rounds: (kit) => keys.map((key) => refused(...twice(kit.sign(), kit.parts.names[key]))),
  },
  {
    name: 'twice:authorization',
    hole: 'two tokens are accepted, and a proxy may read the other one',
    fix: once,
    rounds: (kit) => [rejected(...twice(kit.sign(), 'authorization'))],
  },
  {
    name: 'twice:user-agent',
    hole: 'a repeated User-Agent is accepted, and the binding reads only one',
    fix: once,
    rounds: (kit) => [refused(...twice(kit.sign(), 'user-agent'))],
  },
  {
    name: 'twice:content-type',
    hole: 'a repeated Content-Type is accepted, and a parser reads only one',
    fix: once,
    rounds: (kit) => [rejected(...twice(kit.sign(), 'content-type'))],
  },
  {
    name: 'twice:host',
    hole: 'two Host headers are accepted',
    fix: once,
    rounds: (kit) => [rejected(...twice(kit.sign(), 'host'))],
  },
  {
    name: 'encoding:signature',
    hole: 'a signature is accepted in several encodings',
    fix: strict,
    rounds: (kit) => [
      refused(
        ...[
          (hex: string) => hex.toUpperCase(),
          base64,
          (hex: string) => `sha256=${hex}`,
          (hex: string) => hex.slice(0, 32),
          (hex: string) => hex.slice(0, 63),
          (hex: string) => `${hex}00`,
          (hex: string) => `${hex}, ${hex}`,
        ].map((change) => ofSignature(kit, change)),
      ),
    ],
  },
  {
    name: 'encoding:body-hash',
    hole: 'a body hash is accepted in several encodings',
    fix: strict,
    rounds: (kit) => {
      const hash = headerOf(kit.sign(), kit.parts.names.bodySha256) ?? ''
      const forms = [hash.toUpperCase(), base64(hash), `sha-256=:${base64(hash)}:`, hash.slice(0, 32), 'UNSIGNED-PAYLOAD']
      return [refused(...forms.map((bodySha256) => kit.sign({ bodySha256 })))]
    },
  },
  {
    name: 'encoding:nonce',
    hole: 'a nonce may have any length and any characters',
    fix: 'Accept nonces of 16 to 128 letters, digits, "_" or "-".',
    rounds: (kit) => {
      const nonces = ['a', '123456789012345', 'a'.repeat(129), 'nonce with blanks 0', 'nonce:with:colons:0', 'nonce\u00e9nonce\u00e9nonce']
      return [refused(...nonces.map((nonce) => kit.sign({ nonce })))]
    },
  },
  {
    name: 'header:control-characters',
    hole: 'control characters in a header are accepted',
    fix: 'Keep the HTTP parser strict (no --insecure-http-parser).',
    rounds: (kit) => {
      const { names } = kit.parts
      const values = ['nonce-0123456789\u0000', 'nonce-0123456789\u0001', 'nonce-0123\r4567890']
      return [rejected(...values.map((value) => withHeader(kit.sign(), names.nonce, value)))]
    },
  },
  {
    name: 'header:oversized',
    hole: 'headers of any length are accepted',
    fix: 'Limit the length of each credential, and the size of all headers.',
    rounds: (kit) => {
      const { me } = kit.parts
      return [
        refused(kit.sign({ as: { ...me, keyId: 'k'.repeat(1000) } }), kit.sign({ as: { ...me, token: `${me.token}${'A'.repeat(9000)}` } })),
        rejected(withHeader(kit.sign(), 'x-filling', 'x'.repeat(100_000)), kit.sign({ nonce: 'n'.repeat(40_000) })),
      ]
    },
  },
  {
    name: 'header:method-override',
    hole: 'an unsigned header changes the method',
    fix: 'Refuse X-HTTP-Method-Override on signed requests.',
    rounds: (kit) => [refused(...['DELETE', 'POST', 'GET'].map((method) => withHeader(kit.sign(), 'x-http-method-override', method)))],
  },
  {
    name: 'header:second-profile',
    hole: 'a request may carry two kinds of signature, only one of which is verified',
    fix: 'Refuse a request that is signed by the five headers and by RFC 9421 at the same time.',
    rounds: (kit) => {
      const { keyId } = kit.parts.me
      const input = (alg: string): string =>
        `zin=("@method");created=${Math.floor(kit.parts.now() / 1000)};nonce="${randomUUID()}";keyid="${keyId}";alg="${alg}";tag="zin-bulletproof"`
      const both = (alg: string): WireRequest =>
        withHeader(
          withHeader(kit.sign(), 'signature-input', input(alg)),
          'signature',
          `zin=:${Buffer.alloc(alg === 'ed25519' ? 64 : 32).toString('base64')}:`,
        )
      const alone = keys
        .filter((key) => key !== 'deviceId')
        .reduce((request, key) => withHeader(request, kit.parts.names[key], undefined), both('hmac-sha256'))
      return [refused(both('hmac-sha256'), both('ed25519'), alone)]
    },
  },
  {
    name: 'header:early-data',
    hole: 'a write is accepted from TLS early data, which anyone can replay',
    fix: 'Return 425 for Early-Data: 1 unless the method is GET or HEAD.',
    unless: (kit) => (['GET', 'HEAD'].includes(kit.target.method) ? 'the target only reads; pass --method and --path' : undefined),
    rounds: (kit) => [rejected(withHeader(kit.sign(), 'early-data', '1'))],
  },
  {
    name: 'header:unsigned-extras',
    hole: 'a header set by the client changes the identity of the caller',
    fix: 'Derive the identity of the caller from the verified token alone.',
    rounds: (kit) => {
      const wrong = withHeader(kit.sign(), kit.parts.names.signature, '0'.repeat(64))
      const extras = ['x-user-id', 'x-forwarded-user', 'x-verified', 'x-internal', 'x-original-url', 'x-rewrite-url', 'x-forwarded-for']
      return [accepted(kit.sign()), refused(...extras.map((name) => withHeader(wrong, name, name.endsWith('-url') ? '/' : '127.0.0.1')))]
    },
  },
]
