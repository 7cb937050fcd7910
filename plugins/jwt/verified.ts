import { LRUCache } from 'lru-cache'

/** Limits of the cache: number of tokens, and characters in all. */
const MAX_TOKENS = 10_000
const MAX_CHARACTERS = 8 * 1024 * 1024

interface Verified {
  readonly payload: object
  /** The payload as JSON, when a shallow copy would share nested objects. */
  readonly json: string | undefined
}

/**
 * Caches tokens with a valid signature, so that a signature is verified once per token and not on each request: the same bytes
 * under the same key have the same signature. Times and revocation are not cached and checked each time. Refused tokens are
 * not cached.
 */
export class VerifiedTokens {
  readonly #payloads = new LRUCache<string, Verified>({ max: MAX_TOKENS, maxSize: MAX_CHARACTERS })

  /** A copy of the payload; `undefined` for a token that must be verified. */
  payloadOf(token: string): Record<string, unknown> | undefined {
    const known = this.#payloads.get(token)
    if (known === undefined) return undefined
    return known.json === undefined ? { ...known.payload } : (JSON.parse(known.json) as Record<string, unknown>)
  }

  add(token: string, payload: object): void {
    const flat = Object.values(payload).every((value) => typeof value !== 'object' || value === null)
    // The payload is a part of the token, and shorter than its base64.
    this.#payloads.set(token, { payload: { ...payload }, json: flat ? undefined : JSON.stringify(payload) }, { size: 2 * token.length })
  }
}
