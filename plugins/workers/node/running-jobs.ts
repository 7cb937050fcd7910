import { setTimeout as delay } from 'node:timers/promises'
import type { Job } from 'bullmq'
import type { Clock } from 'zin'

/** One attempt of a job that runs here, and why it should end, if it should. */
export class Attempt {
  readonly job: Job
  readonly version: string
  #reason: unknown
  #controller: AbortController | undefined
  #lost: Error | undefined

  constructor(job: Job, version: string) {
    this.job = job
    this.version = version
  }

  get id(): string {
    return this.job.id ?? ''
  }

  /** Set once the lock of the job is lost: another process may run it, so that this attempt decides nothing any more. */
  get lost(): Error | undefined {
    return this.#lost
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

  lose(error: Error): void {
    this.#lost ??= error
    this.abort(error)
  }
}

/** The jobs of one consumer that run right now. */
export class RunningJobs {
  readonly #clock: Clock
  readonly #attempts = new Set<Attempt>()
  /** How to count ended attempts whose outcome is on its way to the store. */
  readonly #unstored = new WeakMap<Job, () => void>()
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

  begin(job: Job, version: string): Attempt {
    const attempt = new Attempt(job, version)
    this.#attempts.add(attempt)
    this.#begun++
    return attempt
  }

  /** @param count called when the store has accepted the outcome. Absent: the attempt counts neither way. */
  end(attempt: Attempt, count?: () => void): void {
    if (count !== undefined) this.#unstored.set(attempt.job, count)
    this.#attempts.delete(attempt)
    this.#endedAt = this.#clock.monotonic()
    if (this.#attempts.size === 0) for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  /** The store has accepted the outcome of a job's last attempt. */
  stored(job: Job): void {
    this.#unstored.get(job)?.()
    this.#unstored.delete(job)
  }

  /** Aborts a job. False when it does not run here. */
  cancel(id: string, reason: string): boolean {
    const wanted = this.#of(id)
    for (const attempt of wanted) attempt.abort(reason)
    return wanted.length > 0
  }

  /** Aborts the attempts of a job whose lock is lost. The version of the one that was the last to hold it; undefined: none runs here. */
  lose(id: string, error: Error): string | undefined {
    const wanted = this.#of(id)
    const holder = wanted.find((attempt) => attempt.lost === undefined) ?? wanted.at(-1)
    for (const attempt of wanted) attempt.lose(error)
    return holder?.version
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

  #of(id: string): readonly Attempt[] {
    return [...this.#attempts].filter((attempt) => attempt.id === id)
  }

  #empty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.count === 0) resolve()
      else this.#whenEmpty.push(resolve)
    })
  }
}
