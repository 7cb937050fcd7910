/** What a consumer does at a moment. */
export interface Fetching {
  /** Number of jobs that it has taken since it was created. */
  readonly taken: number
  /** Whether it could take another job: it is not paused, has an idle slot, and no rate limit holds it back. */
  readonly free: boolean
  /** When one of its fetches last found no job, as a monotonic time in ms. */
  readonly emptyAt: number
}

/** How long a free consumer may end no fetch before its queue is asked whether jobs wait, in ms: longer than a fetch blocks. */
const askMs = 16_000
/** How often it is asked once they do, in ms. */
export const askAgainMs = 5_000

/** How often it is asked although its fetches end, in ms: they may go to another server, or to one that has lost its jobs. */
const rarelyMs = 300_000

/** How long jobs may wait from the first such answer while the consumer is free and takes none, in ms. */
const patienceMs = 10_000

/**
 * Notices that a consumer takes no jobs although jobs wait and it is free, whatever the cause. It compares what waits with what was taken.
 * A consumer that fetches and finds nothing is asked about every five minutes only.
 */
export class FetchWatch {
  #taken = -1
  #askedAt = Number.NEGATIVE_INFINITY
  #answeredAt = Number.NEGATIVE_INFINITY
  #waitsSince: number | undefined

  /**
   * Whether the queue should be asked now.
   *
   * @param at a monotonic time in ms.
   * @param isStuck whether it was found stuck: then what its fetches find is no answer.
   */
  asks({ emptyAt, free, taken }: Fetching, at: number, isStuck: boolean): boolean {
    if (!free || taken !== this.#taken) {
      this.#taken = taken
      this.#waitsSince = undefined
      this.#askedAt = at
      this.#answeredAt = at
      return false
    }
    if (emptyAt > this.#askedAt && !isStuck && this.#waitsSince === undefined) {
      this.#askedAt = emptyAt
      return at - this.#answeredAt >= rarelyMs
    }
    return at - this.#askedAt >= (this.#waitsSince === undefined ? askMs : askAgainMs)
  }

  /** Takes the answer to a question that was asked at `at`. Returns for how long jobs have waited in vain, in ms, if that is too long. */
  answer(waiting: number, { taken, free }: Fetching, at: number): number | undefined {
    this.#askedAt = at
    this.#answeredAt = at
    if (waiting === 0 || !free || taken !== this.#taken) {
      this.#waitsSince = undefined
      return undefined
    }
    this.#waitsSince ??= at
    const ms = at - this.#waitsSince
    return ms >= patienceMs ? ms : undefined
  }
}
