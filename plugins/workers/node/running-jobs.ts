import { setTimeout as delay } from 'node:timers/promises'
import type { Job } from 'bullmq'
import type { Clock } from 'zin'
import { Attempt } from './attempt.js'

/** Key under which a job keeps its attempt until the store has accepted the outcome. A WeakMap would make attempts a sixth slower. */
const unrecorded = Symbol('unrecorded attempt')

type JobWithAttempt = Job & { [unrecorded]?: Attempt | undefined }

/** The attempts of one consumer: running ones, and those whose outcome the store has not accepted yet. */
export class RunningJobs {
  readonly #clock: Clock
  readonly #attempts = new Set<Attempt>()
  #begun = 0
  #crashed: Promise<unknown> | undefined
  #whenEmpty: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#attempts.size
  }

  get ids(): readonly string[] {
    return [...this.#attempts].map(({ id }) => id)
  }

  /** Number of attempts begun so far. */
  get begun(): number {
    return this.#begun
  }

  begin(job: Job, token: string | undefined, version: string): Attempt {
    const attempt = new Attempt(job, token, version, this.#clock.monotonic())
    this.#attempts.add(attempt)
    this.#begun++
    return attempt
  }

  /** Records that an attempt no longer runs. */
  end(attempt: Attempt): void {
    if (attempt.ended !== undefined) (attempt.job as JobWithAttempt)[unrecorded] = attempt
    this.#attempts.delete(attempt)
    if (this.#attempts.size > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }

  /** Removes and returns the attempt whose outcome the store has accepted; undefined if the job ended without an attempt here. */
  take(job: JobWithAttempt): Attempt | undefined {
    const attempt = job[unrecorded]
    job[unrecorded] = undefined
    return attempt
  }

  /** Aborts a job; false if it does not run here. */
  cancel(id: string, reason: string): boolean {
    const wanted = this.#of(id)
    for (const attempt of wanted) attempt.abort(reason)
    return wanted.length > 0
  }

  /** Aborts the attempts of a job whose lock is lost. Returns the one that held the lock last; undefined if none runs here. */
  lose(id: string, error: Error): Attempt | undefined {
    const wanted = this.#of(id)
    const holder = wanted.find((attempt) => attempt.lost === undefined) ?? wanted.at(-1)
    for (const attempt of wanted) attempt.lose(error)
    return holder
  }

  /**
   * The process ends because of an error that nothing caught, in the code of `culprit`, which may run elsewhere or have ended. If it runs here,
   * it fails in the store at once: it may never end. The others end as in any stop, and {@link settleCrash} returns the rest.
   */
  crash(error: Error, culprit: Attempt): void {
    if (this.#crashed !== undefined) return
    const guilty = this.#attempts.has(culprit) && culprit.lost === undefined ? culprit : undefined
    guilty?.lose(error)
    this.#crashed = guilty === undefined ? Promise.resolve() : guilty.job.moveToFailed(error, guilty.token ?? '').catch(() => undefined)
  }

  /**
   * After a crash, returns the jobs that still run to their queues, so that they neither stall nor lose an attempt. Called when the process is
   * about to end; otherwise it does nothing.
   */
  async settleCrash(): Promise<void> {
    if (this.#crashed === undefined) return
    const others = [...this.#attempts].filter((attempt) => attempt.lost === undefined)
    const returned = others.map(({ job, token }) => job.moveToWait(token).catch(() => undefined))
    await Promise.all([this.#crashed, ...returned])
  }

  cancelAll(reason: string): void {
    for (const attempt of this.#attempts) attempt.abort(reason)
  }

  /** Resolves once no job has run for `ms`. Rejects when the signal is aborted. */
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
