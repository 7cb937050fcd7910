import { createHmac } from 'node:crypto'
import { type Attack, accepted, refused } from '../attack.js'
import type { Kit, Minting } from '../kit.js'
import type { WireRequest } from '../wire.js'
import { flip } from './fields.js'
import { ownClaims } from './identity.js'

const pin = 'Pin one algorithm and one set of keys for tokens; trust nothing in the token header but a known kid.'

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function parts(kit: Kit): { readonly header: Readonly<Record<string, unknown>>; readonly body: string; readonly signature: string } {
  const [head = '', body = '', signature = ''] = kit.parts.me.token.split('.')
  let header: unknown
  try {
    header = JSON.parse(Buffer.from(head, 'base64url').toString('utf8'))
  } catch {
    header = {}
  }
  return { header: header as Record<string, unknown>, body, signature }
}

function withTokens(kit: Kit, tokens: readonly string[]): readonly WireRequest[] {
  return tokens.map((token) => withToken(kit, token))
}

function signedWith(secret: string, header: unknown, body: string): string {
  const text = `${encode(header)}.${body}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

/** Forge or damage the token of a correctly signed request. */
export const tokenAttacks: readonly Attack[] = [
  {
    name: 'jwt:alg-none',
    hole: 'an unsigned token is accepted',
    fix: pin,
    rounds: (kit) => {
      const { header, body, signature } = parts(kit)
      const heads = ['none', 'None', 'NONE', 'nOnE', ''].map((alg) => encode({ ...header, alg }))
      return [
        refused(
          ...withTokens(
            kit,
            heads.flatMap((head) => [`${head}.${body}.`, `${head}.${body}`, `${head}.${body}.${signature}`]),
          ),
        ),
      ]
    },
  },
  {
    name: 'jwt:tampered',
    hole: 'claims of a token can be changed',
    fix: pin,
    rounds: (kit) => {
      const { header, signature, body } = parts(kit)
      const head = kit.parts.me.token.split('.')[0] ?? ''
      const claims = [
        { ...kit.claims, role: 'admin' },
        { ...kit.claims, sub: '1' },
        { ...kit.claims, exp: 4_102_444_800 },
        { ...kit.claims, zin: 1 },
      ]
      const heads = [
        { ...header, kid: '../../../../dev/null' },
        { ...header, kid: '__proto__' },
        { ...header, crit: ['zin'] },
      ]
      return [
        refused(
          ...withTokens(kit, [
            ...claims.map((changed) => `${head}.${encode(changed)}.${signature}`),
            ...heads.map((changed) => `${encode(changed)}.${body}.${signature}`),
            `${head}.${body}.${flip(signature, 0)}`,
            `${head}.${body}.${signature.slice(0, -4)}`,
            `${head}.${body}.${signature}.${signature}`,
          ]),
        ),
      ]
    },
  },
  {
    name: 'jwt:forged',
    hole: 'a token signed with another key is accepted',
    fix: `${pin} Use a key of 32 random bytes or more.`,
    rounds: (kit) => {
      const { header, body } = parts(kit)
      const { secret, keyId } = kit.parts.me
      const guesses = ['', 'secret', 'changeme', 'your-256-bit-secret', keyId, ...(kit.parts.shared ? [] : [secret])]
      const jwk = { kty: 'oct', k: Buffer.from('zin').toString('base64url') }
      return [
        refused(
          ...withTokens(kit, [
            ...guesses.map((guess) => signedWith(guess, { ...header, alg: 'HS256' }, body)),
            signedWith('zin', { alg: 'HS256', typ: 'JWT', jwk }, body),
            signedWith('', { alg: 'HS256', typ: 'JWT', kid: '../../../../dev/null' }, body),
          ]),
        ),
      ]
    },
  },
  {
    name: 'jwt:expired',
    hole: 'an expired token is accepted',
    fix: 'Require exp, and compare it with the current time.',
    unless: mintsNone,
    rounds: async (kit) => {
      const [known, unknown] = await Promise.all([
        mint(kit, { expiresInSeconds: lifeSeconds }),
        mint(kit, { expiresInSeconds: lifeSeconds }),
      ])
      return [
        accepted(withToken(kit, known), takesNone),
        // Signed when the round starts, so that the signature is fresh and only the token is old. A token that the app has seen may be
        // checked differently from a new one.
        { requests: () => [withToken(kit, known), withToken(kit, unknown)], expect: 'refused', afterMs: (lifeSeconds + 1) * 1000 },
      ]
    },
  },
  {
    name: 'jwt:not-yet',
    hole: 'a token is accepted before its nbf',
    fix: 'Compare nbf with the current time whenever the claim is present.',
    unless: mintsNone,
    rounds: async (kit) => {
      const early = await kit.parts.mint?.({ ...ownClaims(kit), nbf: Math.floor(kit.parts.now() / 1000) + 3600 })
      return [accepted(withToken(kit, await mint(kit)), takesNone), refused(withToken(kit, early ?? ''))]
    },
  },
  {
    name: 'jwt:audience',
    hole: 'a token issued for another app is accepted',
    fix: 'Require an aud that names this app.',
    unless: mintsNone,
    rounds: async (kit) => [
      accepted(withToken(kit, await mint(kit)), takesNone),
      refused(withToken(kit, await mint(kit, { audience: 'zin-attack' })), withToken(kit, await mint(kit, { audience: '' }))),
    ],
  },
  {
    name: 'jwt:issuer',
    hole: 'a token from another issuer is accepted',
    fix: 'Require the iss that this app trusts.',
    unless: mintsNone,
    rounds: async (kit) => [
      accepted(withToken(kit, await mint(kit)), takesNone),
      refused(withToken(kit, await mint(kit, { issuer: 'zin-attack' })), withToken(kit, await mint(kit, { issuer: '' }))),
    ],
  },
]

const lifeSeconds = 2
const takesNone = 'the app does not accept tokens signed with the key of this folder'

function mintsNone(kit: Kit): string | undefined {
  return kit.parts.mint === undefined ? 'it needs a token signed with the key of the app' : undefined
}

async function mint(kit: Kit, options: Minting = {}): Promise<string> {
  return (await kit.parts.mint?.(ownClaims(kit), options)) ?? ''
}

function withToken(kit: Kit, token: string): WireRequest {
  return kit.sign({ as: { ...kit.parts.me, token } })
}
