/** A job that took longer than allowed. */
export interface SlowJob {
  readonly worker: string
  readonly job: string
  readonly ms: number
}

/** The latest slow jobs, at most `keep` of them. */
export class SlowJobList {
  readonly #keep: number
  #jobs: readonly SlowJob[] = []

  constructor(keep: number) {
    this.#keep = keep
  }

  add(job: SlowJob): void {
    this.#jobs = [...this.#jobs, job].slice(-this.#keep)
  }

  all(): readonly SlowJob[] {
    return this.#jobs
  }

  countOf(worker: string): number {
    return this.#jobs.filter((entry) => entry.worker === worker).length
  }

  clear(): void {
    this.#jobs = []
  }
}
