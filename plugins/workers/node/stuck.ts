/** For how long an error of the store counts after it was last seen, in ms: a failed fetch is repeated each second. */
const brokenMs = 30_000

/** Since when a worker is stuck, as a number of jobs that it had taken, and whether its queue is broken. */
export class Stuck {
  #taken = 0
  #brokenAt = Number.NEGATIVE_INFINITY

  /** A new consumer has taken nothing yet. */
  replaced(): void {
    this.#taken = 0
  }

  /** @param at a monotonic time in ms. */
  broken(taken: number, at: number): void {
    this.#taken = taken
    this.#brokenAt = at
  }

  isBroken(at: number): boolean {
    return at - this.#brokenAt < brokenMs
  }

  /** Whether it has taken jobs since, and its queue is not broken. */
  isOver(taken: number, at: number): boolean {
    return taken > this.#taken && !this.isBroken(at)
  }
}
