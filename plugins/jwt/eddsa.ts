import { type KeyObject, sign, verify } from 'node:crypto'

/** What `jsonwebtoken` does for other algorithms: tokens signed with Ed25519. */

export function signEdDsa(payload: object, key: KeyObject, kid: string): string {
  const text = `${encoded({ alg: 'EdDSA', typ: 'JWT', kid })}.${encoded(payload)}`
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
}

/** The payload. Throws if the algorithm, the signature, the issuer or the audience is another one. Times are checked by the caller. */
export function verifyEdDsa(
  token: string,
  key: KeyObject,
  { issuer, audience }: { readonly issuer: string; readonly audience: string },
): object {
  const [header = '', payload = '', signature = ''] = token.split('.')
  if ((decoded(header) as { readonly alg?: unknown } | null)?.alg !== 'EdDSA') throw new Error('invalid algorithm')
  const bytes = Buffer.from(signature, 'base64url')
  if (bytes.toString('base64url') !== signature || !verify(null, Buffer.from(`${header}.${payload}`), key, bytes))
    throw new Error('invalid signature')
  const claims = decoded(payload)
  if (typeof claims !== 'object' || claims === null) throw new Error('the payload is not an object')
  const { iss, aud } = claims as { readonly iss?: unknown; readonly aud?: unknown }
  if (iss !== issuer) throw new Error('jwt issuer invalid')
  if (!(Array.isArray(aud) ? aud : [aud]).includes(audience)) throw new Error('jwt audience invalid')
  return claims
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decoded(text: string): unknown {
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
}
