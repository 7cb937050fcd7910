import { hostname } from 'node:os'
import type { PluginContext, SettingValues } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Queues } from 'zin/plugins/queues'
import type { Workers } from 'zin/plugins/workers'
import type { Traces } from './contract.js'
import { AttemptMetrics } from './metrics/attempts.js'
import { AuthDecisionMetrics } from './metrics/auth-decisions.js'
import type { Collector } from './metrics/collector.js'
import { hookMetrics } from './metrics/hook-calls.js'
import { OwnSeries } from './metrics/own-series.js'
import { ProcessMetrics } from './metrics/process.js'
import { RequestMetrics } from './metrics/requests.js'
import type { ObservabilityOptions } from './options.js'
import type { observabilitySettings } from './settings.js'
import { JobTraces } from './traces/job-traces.js'
import type { OtlpTarget } from './traces/target.js'

type Registers = 'clock' | 'hooks' | 'host' | 'log' | 'logFields' | 'onReady' | 'onStart' | 'onStop' | 'onStopped' | 'plugin' | 'use'

export interface ObservedApp extends Pick<PluginContext, Registers> {
  readonly options: ObservabilityOptions
  readonly settings: SettingValues<typeof observabilitySettings>
  readonly database: Database | undefined
  readonly queues: Queues | undefined
  readonly workers: Workers | undefined
  /** Whether the app verifies signed requests. */
  readonly signs: boolean
  readonly collector: Collector
}

/** State about the workers of this process, shared by metrics and traces. */
export interface WorkerFacts {
  readonly own: OwnSeries
  readonly traces: JobTraces
}

export function followWorkers({ hooks, onStart, onStop }: ObservedApp, workers: Workers): WorkerFacts {
  const own = new OwnSeries(() => workers.local.list())
  hooks.on('onWorkerStart', own.forget)
  onStart(() => onStop(workers.events(({ type }) => type === 'changed' && own.forget())))
  return { own, traces: new JobTraces() }
}

/** Registers metrics that are counted from hooks of the core and other plugins, from the start of the plugin until it stops. */
export function countFromHooks(app: ObservedApp, facts: WorkerFacts | undefined): void {
  const { clock, hooks, host, onStart, onStop, options, signs } = app
  const { maxSeries } = options
  const requests = new RequestMetrics(clock, maxSeries)
  const ofProcess = new ProcessMetrics()
  hooks.on('onRequestEnd', requests.ended)
  hooks.on('collectMetrics', () => [...requests.samples(), ...ofProcess.samples(), ...hookMetrics(host.hooks())])
  onStart(() => ofProcess.open())
  onStop(() => ofProcess.close())
  if (signs) {
    const decisions = new AuthDecisionMetrics()
    hooks.on('onAuthDecision', decisions.decided)
    hooks.on('collectMetrics', () => decisions.samples())
  }
  if (facts === undefined) return
  const attempts = new AttemptMetrics({ clock, maxSeries, isOwn: facts.own.has, traceOf: facts.traces.take })
  hooks.on('onAttemptEnd', attempts.ended)
  hooks.on('collectMetrics', () => attempts.samples())
}

/** Time reserved for plugins that stop later, in ms. */
const reserveMs = 1_000
const maxFlushMs = 8_000

/** Traces requests, jobs, queries and calls, and sends traces and metrics, until all plugins have stopped. */
export async function traceApp(app: ObservedApp, target: OtlpTarget, facts: WorkerFacts | undefined): Promise<Traces> {
  const { clock, collector, database, host, log, onReady, onStart, onStop, onStopped, options, plugin, queues, settings, workers } = app
  const { jobSpans, openTelemetry, querySpans, queueTelemetry, requestSpans } = await import('./traces/open.js')
  const { metricIntervalMs, traceIntervalMs } = options
  const telemetry = openTelemetry({
    target,
    samplingRatio: settings.WORKER_OPENTELEMETRY_SAMPLING_RATIO,
    traceIntervalMs,
    metricIntervalMs,
    resource: {
      'service.name': host.app.name,
      'service.instance.id': `${hostname()}:${process.pid}`,
      'deployment.environment.name': host.app.environment,
    },
    collect: () => collector.collect(),
    clock,
    log,
  })
  const { roots, tracer, traces } = telemetry
  const stops: (() => void)[] = []
  app.use(requestSpans(roots))
  if (database !== undefined) stops.push(database.observe(querySpans(tracer)))
  if (queues !== undefined) stops.push(queues.setTelemetry(queueTelemetry(roots)))
  if (workers !== undefined && facts !== undefined) {
    const middleware = jobSpans({ contexts: roots.contexts, isTraced: facts.own.has, onTraced: facts.traces.note })
    onStart(() => {
      stops.push(workers.useJobMiddleware(middleware, { plugin: plugin.name, order: 'pre' }))
    })
  }
  app.logFields(() => {
    const current = traces.current()
    return current === undefined ? undefined : { trace_id: current.traceId, span_id: current.spanId }
  })
  onReady(() => telemetry.start())
  // Metrics are collected while plugins still run; spans are created until the last job has ended.
  onStop(() => telemetry.stopMetrics(Math.min(maxFlushMs, host.shutdownLeftMs / 3)))
  onStopped(async () => {
    for (const stop of stops) stop()
    await telemetry.close(Math.min(maxFlushMs, host.shutdownLeftMs - reserveMs))
  })
  return traces
}
