import type { AttemptEnd } from 'zin/plugins/workers'

/** Attempts that are remembered at a time. */
const maxKept = 10_000

/** Traces of attempts that run, for the exemplars of their metrics. */
export class JobTraces {
  readonly #traces = new Map<string, string>()

  readonly note = (worker: string, job: string, traceId: string): void => {
    if (this.#traces.size < maxKept) this.#traces.set(`${worker}:${job}`, traceId)
  }

  /** The trace of an attempt that ends, once. */
  readonly take = ({ job, worker }: AttemptEnd): string | undefined => {
    if (this.#traces.size === 0) return undefined
    const key = `${worker}:${job.id}`
    const traceId = this.#traces.get(key)
    this.#traces.delete(key)
    return traceId
  }
}
