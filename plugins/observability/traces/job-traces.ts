import type { AttemptEnd } from 'zin/plugins/workers'

/** Maximum number of attempts that are tracked. */
const maxKept = 10_000

/** Trace ids of running attempts, for the exemplars of their metrics. An attempt whose end is never reported is forgotten eventually. */
export class JobTraces {
  readonly #traces = new Map<string, string>()

  readonly note = (worker: string, job: string, traceId: string): void => {
    const key = `${worker}:${job}`
    // A repeated attempt becomes the newest one.
    this.#traces.delete(key)
    if (this.#traces.size >= maxKept) this.#traces.delete(this.#traces.keys().next().value as string)
    this.#traces.set(key, traceId)
  }

  /** Returns and removes the trace id of an attempt that has ended. */
  readonly take = ({ job, worker }: AttemptEnd): string | undefined => {
    if (this.#traces.size === 0) return undefined
    const key = `${worker}:${job.id}`
    const traceId = this.#traces.get(key)
    this.#traces.delete(key)
    return traceId
  }
}
