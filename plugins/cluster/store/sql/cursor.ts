import type { Clock } from 'zin'

/** How long a number that was left out is waited for, in ms: the transaction that took it may not have ended. */
const patienceMs = 5_000

/** Most numbers that are waited for; servers that number in steps leave many out for good. */
const mostMissing = 500

/**
 * How far a reader of numbered rows has come. Rows become visible out of order: a number that was left out is asked for again for a
 * while, so that no row is missed and none is taken twice.
 */
export class Cursor {
  readonly #clock: Clock
  #last: number
  /** Number → since when, by the monotonic clock. */
  readonly #missing = new Map<number, number>()

  constructor(last: number, clock: Clock) {
    this.#last = last
    this.#clock = clock
  }

  get last(): number {
    return this.#last
  }

  get missing(): readonly number[] {
    return [...this.#missing.keys()]
  }

  /** The bodies of rows that were not taken before. Rows are ordered by id. */
  take(rows: readonly { readonly id: number | string | bigint; readonly body: string | null }[]): readonly (string | null)[] {
    const now = this.#clock.monotonic()
    const bodies = rows.flatMap(({ id: raw, body }) => {
      const id = Number(raw)
      if (id <= this.#last) return this.#missing.delete(id) ? [body] : []
      for (let left = Math.max(this.#last + 1, id - mostMissing); left < id; left++) this.#missing.set(left, now)
      this.#last = id
      return [body]
    })
    for (const [id, since] of this.#missing) {
      if (now - since > patienceMs || this.#missing.size > mostMissing) this.#missing.delete(id)
    }
    return bodies
  }
}
