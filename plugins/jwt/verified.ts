import { LRUCache } from 'lru-cache'

/** Bounds of the memory: tokens, and characters in all. */
const MAX_TOKENS = 10_000
const MAX_CHARACTERS = 8 * 1024 * 1024

/**
 * Remembers which tokens had a good signature, so that it is checked once per token and not on each request: the same bytes
 * under the same key have the same signature. What time or a store decides is no part of it and is asked each time. A token
 * that was refused is not remembered.
 */
export class VerifiedTokens {
  readonly #payloads = new LRUCache<string, string>({
    max: MAX_TOKENS,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (payload, token) => payload.length + token.length,
  })

  /** A copy of the payload that nobody else has; `undefined` for a token that has to be checked. */
  payloadOf(token: string): Record<string, unknown> | undefined {
    const text = this.#payloads.get(token)
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>)
  }

  add(token: string, payload: object): void {
    this.#payloads.set(token, JSON.stringify(payload))
  }
}
