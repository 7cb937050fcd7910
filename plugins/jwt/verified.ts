/** Limits of each half of the cache: number of tokens, and characters in all. */
const mostTokens = 5_000
const mostCharacters = 2 * 1024 * 1024

interface Verified {
  readonly payload: object
  /** The payload as JSON, when a shallow copy would share nested objects. */
  readonly json: string | undefined
}

/**
 * Caches tokens with a valid signature, so that a signature is verified once per token and not on each request: the same bytes
 * under the same key have the same signature. Times and revocation are not cached and checked each time. Refused tokens are
 * not cached. When the recent half is full, it becomes the earlier one, whose tokens are forgotten unless they have been used again.
 */
export class VerifiedTokens {
  #recent = new Map<string, Verified>()
  #earlier: ReadonlyMap<string, Verified> = new Map()
  #characters = 0

  /** A copy of the payload; `undefined` for a token that must be verified. */
  payloadOf(token: string): Record<string, unknown> | undefined {
    let known = this.#recent.get(token)
    if (known === undefined) {
      known = this.#earlier.get(token)
      if (known === undefined) return undefined
      this.#keep(token, known)
    }
    return known.json === undefined ? { ...known.payload } : (JSON.parse(known.json) as Record<string, unknown>)
  }

  add(token: string, payload: object): void {
    const flat = Object.values(payload).every((value) => typeof value !== 'object' || value === null)
    this.#keep(token, { payload: { ...payload }, json: flat ? undefined : JSON.stringify(payload) })
  }

  #keep(token: string, verified: Verified): void {
    // The payload is a part of the token, and shorter than its base64.
    if (this.#recent.size >= mostTokens || this.#characters + token.length > mostCharacters) {
      this.#earlier = this.#recent
      this.#recent = new Map()
      this.#characters = 0
    }
    this.#recent.set(token, verified)
    this.#characters += token.length
  }
}
