import type { BreakerRules } from './rules.js'

/** Counts of the jobs of a circuit. Each job counts once, by its last attempt. */
export interface Evidence {
  readonly rule: 'failure-ratio' | 'consecutive-failures'
  /** Jobs in the window; `failed` of them failed. */
  readonly jobs: number
  readonly failed: number
  /** Different jobs that failed since the last completed job. */
  readonly inARow: number
}

const slices = 12
/** Maximum number of failed jobs that are tracked; with more, the result is clear. */
const mostFailed = 1000
/** A streak of failures ends after this many windows without another failure. */
const rowWindows = 10

/**
 * The jobs of one circuit in this process, in constant memory. A job that fails several times counts once, so that retries of a poison job
 * do not open a circuit.
 */
export class Window {
  readonly #completed = Array.from({ length: slices }, () => 0)
  /** Job → time of its last failure, oldest first. */
  readonly #failed = new Map<string, number>()
  readonly #row = new Set<string>()
  #rowAt = Number.NEGATIVE_INFINITY
  #slice = 0

  /** @param now Monotonic time in ms. */
  complete(job: string, now: number, { windowMs }: BreakerRules): void {
    this.#move(now, windowMs)
    const index = this.#slice % slices
    this.#completed[index] = (this.#completed[index] ?? 0) + 1
    if (this.#failed.size > 0) this.#failed.delete(job)
    if (this.#row.size > 0) this.#row.clear()
  }

  /** Returns the evidence if the circuit has to open. */
  fail(job: string, now: number, rules: BreakerRules): Evidence | undefined {
    const { windowMs, minimumJobs, failureRatio, consecutiveFailures } = rules
    this.#move(now, windowMs)
    this.#failed.delete(job)
    this.#failed.set(job, now)
    for (const [id, at] of this.#failed) {
      if (at > now - windowMs && this.#failed.size <= mostFailed) break
      this.#failed.delete(id)
    }
    if (now - this.#rowAt > rowWindows * windowMs) this.#row.clear()
    if (this.#row.size < consecutiveFailures) this.#row.add(job)
    this.#rowAt = now
    const failed = this.#failed.size
    const jobs = failed + this.#completed.reduce((sum, count) => sum + count, 0)
    const seen = { jobs, failed, inARow: this.#row.size }
    if (jobs >= minimumJobs && failed >= jobs * failureRatio) return { rule: 'failure-ratio', ...seen }
    return this.#row.size >= consecutiveFailures ? { rule: 'consecutive-failures', ...seen } : undefined
  }

  /** Clears the slices that have expired. */
  #move(now: number, windowMs: number): void {
    const slice = Math.floor(now / (windowMs / slices))
    for (let passed = Math.min(slice - this.#slice, slices); passed > 0; passed--) this.#completed[(slice - passed + 1) % slices] = 0
    this.#slice = slice
  }
}
