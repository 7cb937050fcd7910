import type { Clock, EndedRequest, MetricSample } from 'zin'
import { SeriesHistogram } from './series.js'

/** Seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** Route label of requests that match no route. */
const unmatched = 'unmatched'

/** Measures requests by route template. */
export class RequestMetrics {
  readonly #durations: SeriesHistogram
  readonly #clock: Clock

  constructor(clock: Clock, maxSeries: number) {
    this.#clock = clock
    this.#durations = new SeriesHistogram({
      name: 'zin_http_request_duration_seconds',
      help: 'Time from receiving a request to the end of its response, by route',
      labels: ['method', 'route', 'status'],
      bounds,
      maxSeries,
    })
  }

  readonly ended = ({ method, ms, route = unmatched, status, traceId }: EndedRequest): void => {
    const labels = [methods.has(method) ? method : 'other', route, String(status)]
    this.#durations.observe(labels, ms / 1000, traceId === undefined ? undefined : { traceId, at: this.#clock.now() })
  }

  samples(): readonly MetricSample[] {
    return this.#durations.samples()
  }
}
