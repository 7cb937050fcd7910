/** What a consumer does at a moment. */
export interface Fetching {
  /** Number of jobs that it has taken since it was created. */
  readonly taken: number
  /** Whether it could take another job: it is not paused, has an idle slot, and no rate limit holds it back. */
  readonly free: boolean
}

/** How often the queue of a worker that takes nothing is asked whether jobs wait, and how often once they do. In ms. */
const askMs = 10_000
export const askAgainMs = 5_000

/** How long jobs may wait while the consumer is free and takes none, in ms: longer than a fetch blocks. */
const patienceMs = 16_000

/**
 * Notices that a consumer takes no jobs although jobs wait and it is free, whatever the cause. It compares what waits with what was taken,
 * and relies on nothing that fetches.
 */
export class FetchWatch {
  #taken = -1
  #askedAt = Number.NEGATIVE_INFINITY
  #waitsSince: number | undefined

  /** Whether the queue should be asked now. @param at a monotonic time in ms. */
  asks({ taken, free }: Fetching, at: number): boolean {
    if (!free || taken !== this.#taken) {
      this.#taken = taken
      this.#waitsSince = undefined
      this.#askedAt = at
      return false
    }
    return at - this.#askedAt >= (this.#waitsSince === undefined ? askMs : askAgainMs)
  }

  /** Takes the answer to a question that was asked at `at`. Returns for how long jobs have waited in vain, in ms, if that is too long. */
  answer(waiting: number, { taken, free }: Fetching, at: number): number | undefined {
    this.#askedAt = at
    if (waiting === 0 || !free || taken !== this.#taken) {
      this.#waitsSince = undefined
      return undefined
    }
    this.#waitsSince ??= at
    const ms = at - this.#waitsSince
    return ms >= patienceMs ? ms : undefined
  }
}
