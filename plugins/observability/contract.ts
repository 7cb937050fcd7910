import { defineService, type MetricSample } from 'zin'

/** All series of one metric. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: MetricSample['type']
  /** Each with labels of its own. */
  readonly samples: readonly MetricSample[]
}

/** A page of metrics as Prometheus reads it. */
export interface MetricsPage {
  readonly contentType: string
  readonly body: string
}

/**
 * The metrics of this process: those of every plugin that listens to `collectMetrics`.
 *
 * @example
 * import { definePlugin } from 'zin'
 * import { metricsService } from 'zin/plugins/observability'
 *
 * export const pushMetrics = definePlugin({
 *   name: 'push-metrics',
 *   version: '1.0.0',
 *   uses: { metrics: metricsService },
 *   setup: (ctx) =>
 *     ctx.onReady(() => {
 *       ctx.every(60_000, async () => {
 *         const { body, contentType } = await ctx.services.metrics.page()
 *         await fetch('http://push.internal:9091/metrics/job/shop', { method: 'PUT', headers: { 'content-type': contentType }, body })
 *       })
 *     }),
 * })
 */
export interface Metrics {
  /** False with `METRICS_EXPORT_ENABLED=false`: plugins report what they know at once, and nothing is counted. */
  readonly enabled: boolean
  /** Where `METRICS_PORT` is served; undefined while it is not. */
  readonly address: { readonly host: string; readonly port: number } | undefined
  /** Asks every plugin. Calls at the same time share one collection. A plugin that fails is left out, and counted. */
  collect(): Promise<readonly MetricFamily[]>
  /**
   * The metrics as text.
   *
   * @param accept an `Accept` header: `application/openmetrics-text` gives OpenMetrics 1.0 with exemplars, anything else the text format 0.0.4.
   */
  page(accept?: string): Promise<MetricsPage>
}

export const metricsService = defineService<Metrics>('metrics')

/** A trace at one point (W3C Trace Context). */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits: the span that runs. */
  readonly spanId: string
  readonly sampled: boolean
  /** `tracestate`. */
  readonly state?: string
}

export interface SpanOptions {
  /** `client`: it waits for another system. Default `internal`. */
  readonly kind?: 'internal' | 'client'
  /** Never secrets or personal data. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
}

/**
 * The traces of the app. While OpenTelemetry is off, `span` only runs its work, and there is no current trace.
 *
 * @example
 * import { definePlugin, optional } from 'zin'
 * import { tracesService } from 'zin/plugins/observability'
 *
 * export const rates = definePlugin({
 *   name: 'rates',
 *   version: '1.0.0',
 *   uses: { traces: optional(tracesService) },
 *   setup: ({ route, services }) =>
 *     route({
 *       method: 'GET',
 *       path: '/rates',
 *       summary: 'Exchange rates',
 *       handler: async () => (await (services.traces?.fetch ?? fetch)('https://rates.internal/today')).json(),
 *     }),
 * })
 */
export interface Traces {
  readonly enabled: boolean
  /** Where the running code is in its trace. */
  current(): TraceContext | undefined
  /** The given headers with `traceparent` and `tracestate` of the current span. */
  headers(headers?: Readonly<Record<string, string>>): Record<string, string>
  /** Runs work in a span of its own, which ends with it. An error is recorded and thrown. */
  span<T>(name: string, work: () => T | Promise<T>, options?: SpanOptions): Promise<T>
  /** `fetch` in a span of its own, with the headers that continue the trace there. The span has the URL without its query. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
}

export const tracesService = defineService<Traces>('traces')
