import type { Clock } from 'zin'

/** How long a skipped number is awaited, in ms: the transaction that uses it may not have committed yet. */
const patienceMs = 5_000

/** Most numbers that are awaited; servers with an auto-increment step skip many numbers permanently. */
const mostMissing = 500

/**
 * The position of a reader of numbered rows. Rows become visible out of order, so skipped numbers are read again for a while: no row
 * is missed, and none is delivered twice.
 */
export class Cursor {
  readonly #clock: Clock
  #last: number
  /** Skipped number → when it was first skipped, by the monotonic clock. */
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

  /** The bodies of rows that were not delivered before. Rows are ordered by id. */
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
