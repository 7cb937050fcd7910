import { timingSafeEqual, verify } from 'node:crypto'
import { canonicalRequest } from './canonical.js'
import { fault, type SignatureClaim, type SignatureFault, type SignatureProfile } from './claim.js'
import { type DecoyKey, hmacSha256, type SigningKey, sha256Hex } from './key.js'
import { signatureBase } from './rfc9421/signature-base.js'

export type { CoveredMessage, SignatureClaim, SignatureFault, SignatureProfile } from './claim.js'
export { isSigned, readSignature, type SignatureReader, signatureReader } from './signature-reader.js'

/** Layer 4: both ends of the window count as inside. */
export function checkFreshness(claim: SignatureClaim, now: number, windowMs: number): SignatureFault | undefined {
  const age = now - Number(claim.timestamp)
  return Math.abs(age) <= windowMs ? undefined : fault(4, age > 0 ? 'the timestamp is too old' : 'the timestamp is ahead of time')
}

/** Layer 5 after a restart: a store that began at `birth` cannot know the nonces of requests made before. */
export function checkFence(claim: SignatureClaim, birth: number): SignatureFault | undefined {
  return Number(claim.timestamp) > birth ? undefined : fault(5, 'the request is older than the nonce store')
}

/** Layer 5: the fault of a nonce that was used before. */
export const replayed: SignatureFault = fault(5, 'the nonce was used before')

/** The signed path and query of a request line. */
export interface SignedTarget {
  readonly pathname: string
  readonly search: string
  /** What the client signed as the host, when it is not the `Host` that came here. */
  readonly authority?: string
}

/** Paths that a WHATWG parser surely leaves as they are, so that most need not be parsed: no dot segment, no escape, no query. */
const plainPath = /^\/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*\/)*(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*)?$/

/**
 * Path and query, when the request line has only one reading: origin form, no fragment, and path and query that a
 * WHATWG parser leaves as they are. Everything else is refused and never normalised.
 *
 * @param target the request line's target as it came, `req.url`.
 * @param prefix a path prefix that a gateway in front removed; the client signed it.
 * @param authority the host that clients sign where a gateway in front changes `Host`; empty when it does not.
 */
export function signedTarget(target: string, prefix = '', authority = ''): SignedTarget | undefined {
  if (!target.startsWith('/') || target.startsWith('//') || /[#\u0000-\u0020\u007f-\uffff]/.test(target)) return undefined
  const mark = target.indexOf('?')
  const pathname = mark < 0 ? target : target.slice(0, mark)
  const search = mark < 0 || mark === target.length - 1 ? '' : target.slice(mark)
  if (plainPath.test(target)) return { pathname: prefix + target, search: '', ...(authority === '' ? {} : { authority }) }
  const parsed = URL.canParse(target, 'http://localhost') ? new URL(target, 'http://localhost') : undefined
  if (parsed === undefined || parsed.pathname !== pathname || parsed.search !== search) return undefined
  return { pathname: prefix + pathname, search, ...(authority === '' ? {} : { authority }) }
}

/** A list of exactly `slots` keys, so that known, unknown and rotated callers cost the same number of MACs. */
export function padKeys(keys: readonly SigningKey[], slots: number, decoy: SigningKey): readonly SigningKey[] {
  return keys.length >= slots ? keys : [...keys, ...Array<SigningKey>(slots - keys.length).fill(decoy)]
}

/**
 * Layer 6, first half: the signature over the body hash that the request claims; the body itself is not needed. Every key is
 * tried, whichever fits. A secret checks HMACs and a public key Ed25519 signatures, never the other way round. Gives the key
 * that fits.
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
  if (target === undefined) return fault(6, 'the request target has more than one reading')
  return found ?? fault(6, 'the signature does not match')
}

/** The text that the client signed, in the profile of the claim. */
export function signedText(method: string, target: SignedTarget, claim: SignatureClaim): string {
  const { covered, keyId, timestamp, nonce, bodySha256, alg } = claim
  const { pathname, search } = target
  if (covered === undefined) return canonicalRequest({ method, pathname, search, timestamp, nonce, bodySha256 })
  const message = { authority: covered.authority, ...target, method, fields: covered.fields }
  return signatureBase(message, covered.deviceIdHeader, { created: timestamp.slice(0, -3), nonce, keyId, alg })
}

function hmacFit(text: string, signature: Buffer, keys: readonly SigningKey[], decoy: DecoyKey): SigningKey | undefined {
  let found: SigningKey | undefined
  for (const key of keys) {
    const candidate = key.key.type === 'secret' ? key : decoy
    const fits = timingSafeEqual(hmacSha256(candidate.key, text), signature)
    if (fits && candidate !== decoy) found ??= candidate
  }
  return found
}

/** One check for every caller: only a device has a public key, and it has one. */
function ed25519Fit(text: string, signature: Buffer, keys: readonly SigningKey[], decoy: DecoyKey): SigningKey | undefined {
  const candidate = keys.find(({ key }) => key.type === 'public')
  const fits = verify(null, Buffer.from(text), candidate?.key ?? decoy.publicKey, signature)
  return fits ? candidate : undefined
}

/** Layer 6: from a device or a caller that may only sign by RFC 9421, v1 is not believed, even when its secret fits. */
export function checkProfile(claim: SignatureClaim, weakest: SignatureProfile): SignatureFault | undefined {
  return weakest === 'rfc9421' && claim.profile === 'v1' ? fault(6, 'the device or the caller is pinned to RFC 9421') : undefined
}

const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Layer 6, second half: the bytes that came are the bytes that were signed. */
export function checkBody(claim: SignatureClaim, body: Uint8Array): SignatureFault | undefined {
  const hash = body.length === 0 ? EMPTY_SHA256 : sha256Hex(body)
  return hash === claim.bodySha256 ? undefined : fault(6, 'the body is not the one that was signed')
}

/** What a token says about where it may be used from. */
export interface BindingClaims {
  readonly deviceId?: unknown
  readonly tz?: unknown
  readonly uaHash?: unknown
}

/** Layers 7 to 9. A claim that is absent binds nothing; a claim of the wrong type binds to nothing that a request can have. */
export function checkBindings(claim: SignatureClaim, token: BindingClaims): SignatureFault | undefined {
  if (claim.deviceId !== claim.keyId) return fault(7, 'the device id is not the key id')
  if (token.deviceId !== undefined && token.deviceId !== claim.deviceId) return fault(7, 'the token belongs to another device')
  if (token.tz !== undefined && token.tz !== claim.timezone) return fault(8, 'the time zone is not the one of the token')
  if (token.uaHash !== undefined && token.uaHash !== sha256Hex(claim.userAgent ?? ''))
    return fault(9, 'the user agent is not the one of the token')
  return undefined
}

/** Layer 7: a device signs for its owner only. */
export function checkOwner(owner: string, sub: string | number | undefined): SignatureFault | undefined {
  return sub !== undefined && String(sub) === owner ? undefined : fault(7, 'the device belongs to another user')
}
