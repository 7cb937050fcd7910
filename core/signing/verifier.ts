import { timingSafeEqual, verify } from 'node:crypto'
import { type SignedTarget, signedText } from './checks.js'
import { fault, type SignatureClaim, type SignatureFault, type SignatureProfile } from './claim.js'
import { type DecoyKey, hmacSha256, type SigningKey, sha256Hex } from './key.js'

export { checkFence, checkFreshness, replayed, type SignedTarget, signedTarget, signedText } from './checks.js'
export type { CoveredMessage, SignatureClaim, SignatureFault, SignatureProfile } from './claim.js'
export { isSigned, readSignature, type SignatureReader, signatureReader } from './signature-reader.js'

/** Pads a list with decoys to `slots` keys, so that known, unknown and rotated callers cost the same number of MACs. */
export function padKeys(keys: readonly SigningKey[], slots: number, decoy: SigningKey): readonly SigningKey[] {
  return keys.length >= slots ? keys : [...keys, ...Array<SigningKey>(slots - keys.length).fill(decoy)]
}

/**
 * Layer 6, first half: checks the signature, which covers the body hash that the request claims; the body itself is not needed. Every key
 * is tried, even after a match. A secret checks only HMACs, a public key only Ed25519 signatures. Returns the matching key.
 */
export function checkMac(
  method: string,
  target: SignedTarget | undefined,
  claim: SignatureClaim,
  keys: readonly SigningKey[],
  decoy: DecoyKey,
): SigningKey | SignatureFault {
  const signature = Buffer.from(claim.signature, 'hex')
  const text = signedText(method, target ?? { pathname: '', search: '' }, claim)
  const found = claim.alg === 'ed25519' ? ed25519Fit(text, signature, keys, decoy) : hmacFit(text, signature, keys, decoy)
  if (target === undefined) return fault(6, 'the request target is ambiguous')
  return found ?? fault(6, 'the signature does not match')
}

function hmacFit(text: string, signature: Buffer, keys: readonly SigningKey[], decoy: DecoyKey): SigningKey | undefined {
  let found: SigningKey | undefined
  for (const key of keys) {
    const candidate = key.key.type === 'secret' ? key : decoy
    const matches = timingSafeEqual(hmacSha256(candidate.key, text), signature)
    if (matches && candidate !== decoy) found ??= candidate
  }
  return found
}

/** One check for every caller: only devices have public keys, and a device has one. */
function ed25519Fit(text: string, signature: Buffer, keys: readonly SigningKey[], decoy: DecoyKey): SigningKey | undefined {
  const candidate = keys.find(({ key }) => key.type === 'public')
  const matches = verify(null, Buffer.from(text), candidate?.key ?? decoy.publicKey, signature)
  return matches ? candidate : undefined
}

/** Layer 6: rejects v1 from a device or caller that may only sign by RFC 9421, even if its secret matches. */
export function checkProfile(claim: SignatureClaim, weakest: SignatureProfile): SignatureFault | undefined {
  return weakest === 'rfc9421' && claim.profile === 'v1' ? fault(6, 'the device or the caller is pinned to RFC 9421') : undefined
}

const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Layer 6, second half: the received bytes are the signed bytes. */
export function checkBody(claim: SignatureClaim, body: Uint8Array): SignatureFault | undefined {
  const hash = body.length === 0 ? EMPTY_SHA256 : sha256Hex(body)
  return hash === claim.bodySha256 ? undefined : fault(6, 'the body is not the one that was signed')
}

/** The claims of a token that restrict where it may be used. */
export interface BindingClaims {
  readonly deviceId?: unknown
  readonly tz?: unknown
  readonly uaHash?: unknown
}

/** Layers 7 to 9. An absent claim restricts nothing; a claim of the wrong type matches no request. */
export function checkBindings(claim: SignatureClaim, token: BindingClaims): SignatureFault | undefined {
  if (claim.deviceId !== claim.keyId) return fault(7, 'the device id is not the key id')
  if (token.deviceId !== undefined && token.deviceId !== claim.deviceId) return fault(7, 'the token belongs to another device')
  if (token.tz !== undefined && token.tz !== claim.timezone) return fault(8, 'the time zone is not that of the token')
  if (token.uaHash !== undefined && token.uaHash !== sha256Hex(claim.userAgent ?? ''))
    return fault(9, 'the user agent is not that of the token')
  return undefined
}

/** Layer 7: a device signs for its owner only. */
export function checkOwner(owner: string, sub: string | number | undefined): SignatureFault | undefined {
  return sub !== undefined && String(sub) === owner ? undefined : fault(7, 'the device belongs to another user')
}
