import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from 'zin'

/** One attempt of a job that runs here, and why it should end, if it should. */
export class Attempt {
  readonly job: string
  #reason: unknown
  #controller: AbortController | undefined

  constructor(job: string) {
    this.job = job
  }

  /** What it was aborted with; undefined while it may go on. */
  get reason(): unknown {
    return this.#reason
  }

  /** Made when it is first asked for: it costs more than all the rest of an attempt, and most processors take none. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** The first reason stands. */
  abort(reason: unknown): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}

/** The jobs of one consumer that run right now. */
export class RunningJobs {
  readonly #clock: Clock
  readonly #attempts = new Set<Attempt>()
  #begun = 0
  /** When the last one ended, by the monotonic clock. */
  #endedAt = Number.NEGATIVE_INFINITY
  #whenEmpty: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#attempts.size
  }

  begin(job: string): Attempt {
    const attempt = new Attempt(job)
    this.#attempts.add(attempt)
    this.#begun++
    return attempt
  }

  end(attempt: Attempt): void {
    this.#attempts.delete(attempt)
    this.#endedAt = this.#clock.monotonic()
    if (this.#attempts.size === 0) for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  /** Aborts a job. False when it does not run here. */
  cancel(job: string, reason: string): boolean {
    const wanted = [...this.#attempts].filter((attempt) => attempt.job === job)
    for (const attempt of wanted) attempt.abort(reason)
    return wanted.length > 0
  }

  cancelAll(reason: string): void {
    for (const attempt of this.#attempts) attempt.abort(reason)
  }

  /** Resolves once the last job ended and `ms` have passed since, in which its outcome is stored. For those that take no more jobs. */
  async settled(ms: number): Promise<void> {
    await this.#empty()
    const left = this.#endedAt + ms - this.#clock.monotonic()
    if (left > 0) await delay(left)
  }

  /** Resolves once nothing ran for `ms`. Rejects when the signal says that nobody waits any more. */
  async quiet(ms: number, signal: AbortSignal): Promise<void> {
    let begun: number
    do {
      await this.#empty()
      begun = this.#begun
      await delay(ms, undefined, { signal })
    } while (this.count > 0 || this.#begun !== begun)
  }

  #empty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.count === 0) resolve()
      else this.#whenEmpty.push(resolve)
    })
  }
}
