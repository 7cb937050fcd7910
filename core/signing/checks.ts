import { canonicalRequest } from './canonical.js'
import { fault, type SignatureClaim, type SignatureFault } from './claim.js'
import { signatureBase } from './rfc9421/signature-base.js'

// The checks that are independent of the runtime.

/** Layer 4: the timestamp is within the window, bounds included. */
export function checkFreshness(claim: SignatureClaim, now: number, windowMs: number): SignatureFault | undefined {
  const age = now - Number(claim.timestamp)
  return Math.abs(age) <= windowMs
    ? undefined
    : fault(4, age > 0 ? 'the timestamp is too old' : 'the timestamp is ahead of the server clock')
}

/** Layer 5 after a restart: a store created at `birth` (ms since 1970) cannot know the nonces of earlier requests. */
export function checkFence(claim: SignatureClaim, birth: number): SignatureFault | undefined {
  return Number(claim.timestamp) > birth ? undefined : fault(5, 'the request is older than the nonce store')
}

/** Layer 5: the fault for a nonce that was used before. */
export const replayed: SignatureFault = fault(5, 'the nonce was used before')

/** The signed path and query of a request line. */
export interface SignedTarget {
  readonly pathname: string
  readonly search: string
  /** The host that the client signed, if it differs from the received `Host`. */
  readonly authority?: string
}

/** Paths that a WHATWG parser certainly leaves unchanged, so that most need not be parsed: no dot segments, escapes or query. */
const plainPath = /^\/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*\/)*(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*)?$/

/**
 * Returns the path and query if the request target is unambiguous: origin form, no fragment, and a path and query that a
 * WHATWG parser leaves unchanged. Everything else returns `undefined`; nothing is normalized.
 *
 * @param target the target of the request line as received, `req.url`.
 * @param prefix a path prefix that the client signed but a gateway in front removed.
 * @param authority the host that clients sign if a gateway in front changes `Host`; empty if it does not.
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

/** Returns the text that the client signed, in the profile of the claim. */
export function signedText(method: string, target: SignedTarget, claim: SignatureClaim): string {
  const { covered, keyId, timestamp, nonce, bodySha256, alg } = claim
  const { pathname, search } = target
  if (covered === undefined) return canonicalRequest({ method, pathname, search, timestamp, nonce, bodySha256 })
  const message = { authority: covered.authority, ...target, method, fields: covered.fields }
  return signatureBase(message, covered.deviceIdHeader, { created: timestamp.slice(0, -3), nonce, keyId, alg })
}
