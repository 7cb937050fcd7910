import { LRUCache } from 'lru-cache'

/** Bounds of the memory: tokens, and characters in all. */
const MAX_TOKENS = 10_000
const MAX_CHARACTERS = 8 * 1024 * 1024

interface Verified {
  readonly payload: object
  /** The payload as JSON, when a shallow copy of it would share what lies deeper. */
  readonly json: string | undefined
}

/**
 * Remembers which tokens had a good signature, so that it is checked once per token and not on each request: the same bytes
 * under the same key have the same signature. What time or a store decides is no part of it and is asked each time. A token
 * that was refused is not remembered.
 */
export class VerifiedTokens {
  readonly #payloads = new LRUCache<string, Verified>({ max: MAX_TOKENS, maxSize: MAX_CHARACTERS })

  /** A copy of the payload that nobody else has; `undefined` for a token that has to be checked. */
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
