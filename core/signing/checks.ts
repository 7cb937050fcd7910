import { canonicalRequest } from './canonical.js'
import { fault, type SignatureClaim, type SignatureFault } from './claim.js'
import { signatureBase } from './rfc9421/signature-base.js'

// The checks that are tied to no runtime.

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
  if (plainPath.test(target)) return targetOf(prefix + target, '', authority)
  const parsed = URL.canParse(target, 'http://localhost') ? new URL(target, 'http://localhost') : undefined
  if (parsed === undefined || parsed.pathname !== pathname || parsed.search !== search) return undefined
  return targetOf(prefix + pathname, search, authority)
}

function targetOf(pathname: string, search: string, authority: string): SignedTarget {
  return authority === '' ? { pathname, search } : { pathname, search, authority }
}

/** The text that the client signed, in the profile of the claim. */
export function signedText(method: string, target: SignedTarget, claim: SignatureClaim): string {
  const { covered, keyId, timestamp, nonce, bodySha256, alg } = claim
  const { pathname, search } = target
  if (covered === undefined) return canonicalRequest({ method, pathname, search, timestamp, nonce, bodySha256 })
  const message = { authority: covered.authority, ...target, method, fields: covered.fields }
  return signatureBase(message, covered.deviceIdHeader, { created: timestamp.slice(0, -3), nonce, keyId, alg })
}
