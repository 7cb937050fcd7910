import { timingSafeEqual } from 'node:crypto'
import { canonicalRequest, KEY_ID_PATTERN, NONCE_PATTERN, type SignatureHeaderNames, TIMESTAMP_PATTERN } from './canonical.js'
import { hmacSha256, type SigningKey, sha256Hex } from './key.js'

/**
 * A failed check. `layer` is the number of the check in the specification; `reason` is for logs and hooks, never for the caller.
 */
export interface SignatureFault {
  readonly ok: false
  readonly layer: 3 | 4 | 5 | 6 | 7 | 8 | 9
  readonly reason: string
}

function fault(layer: SignatureFault['layer'], reason: string): SignatureFault {
  return { ok: false, layer, reason }
}

/** What a request says about its signature; every field has its right form, and nothing is proven yet. */
export interface SignatureClaim {
  readonly ok: true
  readonly keyId: string
  readonly timestamp: string
  readonly nonce: string
  readonly bodySha256: string
  readonly signature: string
  readonly deviceId: string | undefined
  readonly timezone: string | undefined
  readonly userAgent: string | undefined
}

const hex64 = /^[0-9a-f]{64}$/
/** Node joins or drops repeats of these, so the bytes that were signed could differ from what the app reads. */
const singleHeaders = ['authorization', 'host', 'user-agent', 'content-type', 'content-length', 'content-encoding', 'transfer-encoding']

/**
 * Layer 3: the five headers are there once and well formed, and nothing about the request makes its meaning ambiguous.
 *
 * @param rawHeaders as `req.rawHeaders`: names and values in turn, repeats kept.
 */
export function readSignature(rawHeaders: readonly string[], names: SignatureHeaderNames): SignatureClaim | SignatureFault {
  const watched = new Map<string, string | undefined>()
  for (const name of [...singleHeaders, ...Object.values(names)]) watched.set(name, undefined)
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase()
    if (name === 'x-http-method-override') return fault(3, 'the method is overridden by a header')
    if (!watched.has(name)) continue
    if (watched.get(name) !== undefined) return fault(3, `the header ${name} is repeated`)
    watched.set(name, rawHeaders[index + 1] as string)
  }
  const encoding = watched.get('content-encoding')
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return fault(3, 'the body is encoded')

  const [keyId, timestamp, nonce, bodySha256, signature] = fiveOf(names).map((name) => watched.get(name))
  if (keyId === undefined || timestamp === undefined || nonce === undefined || bodySha256 === undefined || signature === undefined)
    return fault(
      3,
      `missing ${fiveOf(names)
        .filter((name) => watched.get(name) === undefined)
        .join(', ')}`,
    )
  const forms = [
    KEY_ID_PATTERN.test(keyId),
    TIMESTAMP_PATTERN.test(timestamp),
    NONCE_PATTERN.test(nonce),
    hex64.test(bodySha256),
    hex64.test(signature),
  ]
  if (forms.includes(false)) return fault(3, `malformed ${fiveOf(names)[forms.indexOf(false)]}`)

  return {
    ok: true,
    keyId,
    timestamp,
    nonce,
    bodySha256,
    signature,
    deviceId: watched.get(names.deviceId),
    timezone: watched.get(names.timezone),
    userAgent: watched.get('user-agent'),
  }
}

function fiveOf(names: SignatureHeaderNames): readonly string[] {
  return [names.keyId, names.timestamp, names.nonce, names.bodySha256, names.signature]
}

/** Whether a request carries any of the five headers, so that it means to be a signed one. */
export function isSigned(headers: Readonly<Record<string, unknown>>, names: SignatureHeaderNames): boolean {
  return fiveOf(names).some((name) => headers[name] !== undefined)
}

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
}

/**
 * Path and query, when the request line has only one reading: origin form, no fragment, and path and query that a
 * WHATWG parser leaves as they are. Everything else is refused and never normalised.
 *
 * @param target the request line's target as it came, `req.url`.
 * @param prefix a path prefix that a gateway in front removed; the client signed it.
 */
export function signedTarget(target: string, prefix = ''): SignedTarget | undefined {
  if (!target.startsWith('/') || target.startsWith('//') || /[\\#\u0000-\u0020\u007f-\uffff]/.test(target)) return undefined
  const mark = target.indexOf('?')
  const pathname = mark < 0 ? target : target.slice(0, mark)
  const search = mark < 0 || mark === target.length - 1 ? '' : target.slice(mark)
  const parsed = URL.canParse(target, 'http://localhost') ? new URL(target, 'http://localhost') : undefined
  if (parsed === undefined || parsed.pathname !== pathname || parsed.search !== search) return undefined
  return { pathname: prefix + pathname, search }
}

/** A list of exactly `slots` keys, so that known, unknown and rotated callers cost the same number of MACs. */
export function padKeys(keys: readonly SigningKey[], slots: number, decoy: SigningKey): readonly SigningKey[] {
  return keys.length >= slots ? keys : [...keys, ...Array<SigningKey>(slots - keys.length).fill(decoy)]
}

/**
 * Layer 6, first half: the MAC over the body hash that the request claims; the body itself is not needed. Every key is
 * tried, whichever fits. Gives the key that fits.
 */
export function checkMac(
  method: string,
  target: SignedTarget | undefined,
  claim: SignatureClaim,
  keys: readonly SigningKey[],
  decoy: SigningKey,
): SigningKey | SignatureFault {
  const signature = Buffer.from(claim.signature, 'hex')
  const text = canonicalRequest({
    method,
    pathname: target?.pathname ?? '',
    search: target?.search ?? '',
    timestamp: claim.timestamp,
    nonce: claim.nonce,
    bodySha256: claim.bodySha256,
  })
  let found: SigningKey | undefined
  for (const candidate of keys) {
    const fits = timingSafeEqual(hmacSha256(candidate.key, text), signature)
    if (fits && candidate !== decoy) found ??= candidate
  }
  if (target === undefined) return fault(6, 'the request target has more than one reading')
  return found ?? fault(6, 'the signature does not fit')
}

/** Layer 6, second half: the bytes that came are the bytes that were signed. */
export function checkBody(claim: SignatureClaim, body: Uint8Array): SignatureFault | undefined {
  return sha256Hex(body) === claim.bodySha256 ? undefined : fault(6, 'the body is not the one that was signed')
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
