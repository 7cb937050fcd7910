import { setTimeout as delay } from 'node:timers/promises'
import type { Job } from 'bullmq'
import type { Clock } from 'zin'
import { Attempt } from './attempt.js'

/** Where a job keeps its attempt until the store has accepted the outcome. With a WeakMap, each attempt would cost a sixth more. */
const unrecorded = Symbol('unrecorded attempt')

type JobWithAttempt = Job & { [unrecorded]?: Attempt | undefined }

/** The attempts of one consumer: those that run, and those whose outcome is on its way to the store. */
export class RunningJobs {
  readonly #clock: Clock
  readonly #attempts = new Set<Attempt>()
  #begun = 0
  /** When the last one ended, by the monotonic clock. */
  #emptySince = Number.NEGATIVE_INFINITY
  #whenEmpty: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#attempts.size
  }

  begin(job: Job, token: string | undefined, version: string): Attempt {
    const attempt = new Attempt(job, token, version, this.#clock.monotonic())
    this.#attempts.add(attempt)
    this.#begun++
    return attempt
  }

  /** It runs no longer. */
  end(attempt: Attempt): void {
    if (attempt.ended !== undefined) (attempt.job as JobWithAttempt)[unrecorded] = attempt
    this.#attempts.delete(attempt)
    if (this.#attempts.size > 0) return
    this.#emptySince = this.#clock.monotonic()
    for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  /** The attempt whose outcome the store has accepted, once. Undefined: the job ended without one. */
  take(job: JobWithAttempt): Attempt | undefined {
    const attempt = job[unrecorded]
    job[unrecorded] = undefined
    return attempt
  }

  /** Aborts a job. False when it does not run here. */
  cancel(id: string, reason: string): boolean {
    const wanted = this.#of(id)
    for (const attempt of wanted) attempt.abort(reason)
    return wanted.length > 0
  }

  /** Aborts the attempts of a job whose lock is lost. The one that was the last to hold it; undefined: none runs here. */
  lose(id: string, error: Error): Attempt | undefined {
    const wanted = this.#of(id)
    const holder = wanted.find((attempt) => attempt.lost === undefined) ?? wanted.at(-1)
    for (const attempt of wanted) attempt.lose(error)
    return holder
  }

  cancelAll(reason: string): void {
    for (const attempt of this.#attempts) attempt.abort(reason)
  }

  /** Resolves once the last job ended and `ms` have passed since, in which its outcome is stored. For those that take no more jobs. */
  async settled(ms: number): Promise<void> {
    await this.#empty()
    const left = this.#emptySince + ms - this.#clock.monotonic()
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
