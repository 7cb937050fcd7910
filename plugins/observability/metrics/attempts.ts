import type { Clock, MetricSample } from 'zin'
import type { AttemptEnd } from 'zin/plugins/workers'
import { SeriesHistogram } from './series.js'

/** Seconds. */
const runBounds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800]

export interface AttemptMetricsOptions {
  readonly clock: Clock
  readonly maxSeries: number
  /** Whether the worker has its own series. */
  readonly isOwn: (worker: string) => boolean
  /** Returns the trace id of an attempt that has ended, if it was sampled. */
  readonly traceOf: (end: AttemptEnd) => string | undefined
}

/** Counts attempts by worker, version and outcome. */
export class AttemptMetrics {
  readonly #options: AttemptMetricsOptions
  readonly #runs: SeriesHistogram
  readonly #waits: SeriesHistogram

  constructor(options: AttemptMetricsOptions) {
    const { maxSeries } = options
    this.#options = options
    this.#runs = new SeriesHistogram({
      name: 'zin_worker_attempt_duration_seconds',
      help: 'Run time of attempts that ended in this process, by worker, version and outcome',
      labels: ['worker', 'version', 'outcome'],
      bounds: runBounds,
      maxSeries,
      beyond: ([, , outcome = 'other']) => ['other', 'other', outcome],
    })
    this.#waits = new SeriesHistogram({
      name: 'zin_worker_wait_duration_seconds',
      help: 'Time from when a job was first due to the start of its first attempt, by worker',
      labels: ['worker'],
      bounds: runBounds,
      maxSeries,
    })
  }

  readonly ended = (end: AttemptEnd): void => {
    const { attempt, outcome, runMs, version, waitMs, worker } = end
    const { clock, isOwn, traceOf } = this.#options
    const traceId = traceOf(end)
    const exemplar = traceId === undefined ? undefined : { traceId, at: clock.now() }
    const own = isOwn(worker)
    this.#runs.observe(own ? [worker, version ?? 'unknown', outcome] : ['other', 'other', outcome], runMs / 1000, exemplar)
    if (attempt === 1 && outcome !== 'deferred') this.#waits.observe([own ? worker : 'other'], waitMs / 1000, exemplar)
  }

  samples(): readonly MetricSample[] {
    return [...this.#runs.samples(), ...this.#waits.samples()]
  }
}
