// Loaded only while OpenTelemetry is on: all heavy imports are here.
import { context, propagation, type Tracer, trace } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor, ParentBasedSampler, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import type { MetricFamily, Traces } from '../contract.js'
import { contextManager } from './context-manager.js'
import { endingAgent } from './ending-agent.js'
import { HeadSampling } from './head-sampling.js'
import { metricProducer } from './metric-producer.js'
import { OtelTraces } from './otel-traces.js'
import { W3cPropagator } from './propagator.js'
import { ExportFailures } from './quiet-exporter.js'
import { type RootSpans, unsent } from './spans.js'
import type { OtlpTarget } from './target.js'

export { queueTelemetry } from './queue-telemetry.js'
export { jobSpans, querySpans, requestSpans } from './spans.js'

export interface OpenOptions {
  readonly target: OtlpTarget
  readonly samplingRatio: number
  readonly traceIntervalMs: number
  readonly metricIntervalMs: number
  /** `service.name`, `service.instance.id`, … */
  readonly resource: Readonly<Record<string, string>>
  readonly collect: () => Promise<readonly MetricFamily[]>
  readonly clock: Clock
  readonly log: Logger
}

export interface OpenTelemetry {
  readonly traces: Traces
  readonly tracer: Tracer
  /** Dependencies of {@link requestSpans}. */
  readonly roots: RootSpans
  /** Starts sending metrics. */
  start(): void
  /** Sends the metrics a last time, for at most `ms`, and stops sending them. Never rejects. */
  stopMetrics(ms: number): Promise<void>
  /** Sends the remaining spans, for at most `ms`, and shuts down. Never rejects. */
  close(ms: number): Promise<void>
}

/** Timeout of one export including retries, in ms. */
const exportMs = 5_000
/** How long to wait for aborted exports to settle, in ms. */
const cutMs = 500
/** Maximum number of buffered spans; further ones are dropped. */
const maxQueued = 4_096

/** Starts the SDK and registers it globally (`@opentelemetry/api`), unless one is registered already. */
export function openTelemetry(options: OpenOptions): OpenTelemetry {
  const { clock, log, metricIntervalMs, samplingRatio, target, traceIntervalMs } = options
  const { endpoint, headers } = target
  const resource = resourceFromAttributes(options.resource)
  const connections = endingAgent(endpoint)
  const otlp = (path: string) => ({
    url: `${endpoint}${path}`,
    headers,
    timeoutMillis: exportMs,
    httpAgentOptions: () => connections.agent,
  })
  const failuresOf = (what: string): ExportFailures => new ExportFailures({ clock, log, what, endpoint })

  const spans = new BatchSpanProcessor(quietSpans(new OTLPTraceExporter(otlp('/v1/traces')), failuresOf('traces')), {
    maxQueueSize: maxQueued,
    scheduledDelayMillis: traceIntervalMs,
    exportTimeoutMillis: exportMs + 1_000,
  })
  const sampling = new HeadSampling(samplingRatio)
  const sampler = new ParentBasedSampler({ root: sampling })
  const provider = new BasicTracerProvider({ resource, sampler, idGenerator: sampling, spanProcessors: [spans] })
  const propagator = new W3cPropagator()
  // Both are stateless and stay registered on shutdown: another app in the process may use them.
  context.setGlobalContextManager(contextManager)
  propagation.setGlobalPropagator(propagator)
  const isGlobal = trace.setGlobalTracerProvider(provider)
  const tracer = provider.getTracer('zin')

  let meters: MeterProvider | undefined
  let lastMetrics: Promise<void> | undefined
  const start = (): void => {
    const exporter = quietMetrics(new OTLPMetricExporter(otlp('/v1/metrics')), failuresOf('metrics'))
    const metricProducers = [metricProducer(options.collect, Date.now() - performance.now())]
    const reader = new PeriodicExportingMetricReader({
      exporter,
      metricProducers,
      exportIntervalMillis: metricIntervalMs,
      exportTimeoutMillis: Math.min(exportMs + 1_000, metricIntervalMs),
    })
    meters = new MeterProvider({ resource, readers: [reader] })
  }

  const inTime = async (what: string, work: Promise<void>, ms: number): Promise<void> => {
    await withDeadline(work, Math.max(1, ms), 'no response in time').catch((error: unknown) => {
      log.warn({ endpoint }, `the remaining ${what} could not be sent: ${messageOf(error)}`)
    })
  }
  const stopMetrics = async (ms: number): Promise<void> => {
    connections.end()
    lastMetrics = meters?.shutdown()
    if (lastMetrics !== undefined) await inTime('metrics', lastMetrics, ms)
  }
  const close = async (ms: number): Promise<void> => {
    if (isGlobal) trace.disable()
    connections.end()
    const ended = provider.shutdown()
    await inTime('traces', ended, ms)
    connections.cut()
    await withDeadline(Promise.allSettled([ended, lastMetrics]), cutMs, '').catch(() => undefined)
  }

  // A context manager of another SDK is only known to propagate contexts.
  const contexts = contextManager.isGlobal() ? contextManager : undefined
  const roots = { tracer, propagator, sampling, contexts }
  return { traces: new OtelTraces(tracer, propagator), tracer, roots, start, stopMetrics, close }
}

function quietSpans(exporter: SpanExporter, failures: ExportFailures): SpanExporter {
  return {
    export: (spans, done) => {
      const sent = spans.filter(({ attributes }) => attributes[unsent] !== true)
      if (sent.length === 0) done({ code: 0 })
      else exporter.export(sent, failures.noting(done))
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

function quietMetrics(exporter: OTLPMetricExporter, failures: ExportFailures): PushMetricExporter {
  return {
    export: (metrics, done) => exporter.export(metrics, failures.noting(done)),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
    selectAggregationTemporality: (instrument) => exporter.selectAggregationTemporality(instrument),
    selectAggregation: (instrument) => exporter.selectAggregation(instrument),
  }
}
