import { defineService, type MetricSample } from 'zin'

/** All series of one metric. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: MetricSample['type']
  /** Samples with distinct labels. */
  readonly samples: readonly MetricSample[]
}

/** A page of metrics in a Prometheus format. */
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
  /** Whether `METRICS_EXPORT_ENABLED` is true. If false, plugins only report current state, and nothing is counted. */
  readonly enabled: boolean
  /** Address of `METRICS_PORT`; undefined while it is not served. */
  readonly address: { readonly host: string; readonly port: number } | undefined
  /** Collects the metrics of every plugin. Concurrent calls share one collection. A plugin that fails is left out and counted. */
  collect(): Promise<readonly MetricFamily[]>
  /**
   * Returns the metrics as text.
   *
   * @param accept `Accept` header: `application/openmetrics-text` selects OpenMetrics 1.0 with exemplars, anything else the text format 0.0.4.
   */
  page(accept?: string): Promise<MetricsPage>
}

export const metricsService = defineService<Metrics>('metrics')

/** A trace context (W3C Trace Context). */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** Id of the current span: 16 hex digits. */
  readonly spanId: string
  readonly sampled: boolean
  /** `tracestate`. */
  readonly state?: string
}

export interface SpanOptions {
  /** `client` for calls to another system. Default `internal`. */
  readonly kind?: 'internal' | 'client'
  /** Must not contain secrets or personal data. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
}

/**
 * Tracing of the app. While OpenTelemetry is off, `span` only runs its work, and there is no current trace.
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
  /** Returns the trace context of the running code. */
  current(): TraceContext | undefined
  /** Returns the given headers with `traceparent` and `tracestate` of the current span added. */
  headers(headers?: Readonly<Record<string, string>>): Record<string, string>
  /** Runs work in a new span that ends with it. Errors are recorded and rethrown. */
  span<T>(name: string, work: () => T | Promise<T>, options?: SpanOptions): Promise<T>
  /** Calls `fetch` in a new span, with headers that continue the trace. The span has the URL without its query. */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>
}

export const tracesService = defineService<Traces>('traces')
