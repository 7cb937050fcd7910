import {
  context,
  type Context as OtelContext,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Context, Middleware, Next } from 'koa'
import { reportedPath, requestContext } from 'zin'
import type { ObservedQuery } from 'zin/plugins/database'
import { isDeferral, type JobMiddleware } from 'zin/plugins/workers'
import type { contextManager } from './context-manager.js'
import type { HeadSampling } from './head-sampling.js'
import type { W3cPropagator } from './propagator.js'
import { operationOf, sqlText } from './sql-text.js'
import { UnrecordedTrace } from './unrecorded.js'

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const fromHeaders = { get: (headers: object, name: string) => (headers as Record<string, string>)[name], keys: Object.keys }
/** Attribute that marks spans that are not sent. */
export const unsent = 'zin.unsent'

/** Dependencies of spans that begin a trace in this process or continue that of a caller. */
export interface RootSpans {
  readonly tracer: Tracer
  readonly propagator: W3cPropagator
  readonly sampling: HeadSampling
  /** Undefined if another SDK's context manager is global. */
  readonly contexts: typeof contextManager | undefined
}

/** Middleware that creates a span for each request, within the trace of the caller. */
export function requestSpans({ tracer, propagator, sampling, contexts }: RootSpans): Middleware {
  return (ctx: Context, next: Next) => {
    const { method, req } = ctx
    const parent = propagator.extract(ROOT_CONTEXT, req.headers, fromHeaders)
    const unrecorded = sampling.leaveOut(parent)
    if (unrecorded !== undefined)
      return contexts === undefined ? context.with(unrecorded.context, next) : contexts.withUnrecorded(unrecorded, next)
    const verb = methods.has(method) ? method : 'HTTP'
    const span = tracer.startSpan(verb, { kind: SpanKind.SERVER }, parent)
    if (span.isRecording()) describeRequest(span, ctx, verb)
    return context.with(trace.setSpan(parent, span), next)
  }
}

function describeRequest(span: Span, ctx: Context, verb: string): void {
  const { method, path, res } = ctx
  const request = requestContext()
  if (request !== undefined) request.traceId = span.spanContext().traceId
  span.setAttribute('http.request.method', method)
  res.once('close', () => {
    const route = request?.route?.path
    span.setAttribute('url.path', reportedPath(ctx, path).slice(0, 500))
    if (route !== undefined) span.updateName(`${verb} ${route}`).setAttribute('http.route', route)
    span.setAttribute('http.response.status_code', res.statusCode)
    if (res.statusCode >= 500 || res.errored) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  })
}

/** Returns an observer that creates a span for each query within a recorded trace. */
export function querySpans(tracer: Tracer): (query: ObservedQuery) => void {
  return ({ connection, dialect, error, ms, sql }) => {
    if (trace.getActiveSpan()?.isRecording() !== true) return
    const endTime = Date.now()
    const operation = operationOf(sql)
    const attributes = {
      'db.system.name': dialect,
      'db.namespace': connection,
      'db.operation.name': operation,
      'db.query.text': sqlText(sql, dialect),
    }
    const span = tracer.startSpan(`${operation} ${connection}`, { kind: SpanKind.CLIENT, startTime: endTime - ms, attributes })
    // The message is left out, because it may contain values of the query.
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: (error as { code?: string }).code ?? 'failed' })
    span.end(endTime)
  }
}

export interface JobSpansOptions extends Pick<RootSpans, 'contexts'> {
  /** Whether the jobs of a worker are traced. */
  readonly isTraced: (worker: string) => boolean
  /** Called for each recorded attempt. */
  readonly onTraced: (worker: string, job: string, traceId: string) => void
}

const nothing = trace.wrapSpanContext({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 })

/** Middleware that adds worker, version and attempt to the span of a job, which BullMQ creates. */
export function jobSpans({ contexts, isTraced, onTraced }: JobSpansOptions): JobMiddleware {
  return ({ attempt, job, version, worker }, next) => {
    if (contexts?.held instanceof UnrecordedTrace) return next()
    const span = trace.getActiveSpan()
    if (span?.isRecording() !== true) return next()
    if (!isTraced(worker)) {
      span.setAttribute(unsent, true)
      return context.with(trace.setSpan(context.active() as OtelContext, nothing), next)
    }
    span.setAttributes({ 'zin.worker': worker, 'zin.worker.version': version, 'zin.job.attempt': attempt, 'zin.job.name': job.name })
    onTraced(worker, job.id ?? '', span.spanContext().traceId)
    return next().catch((error: unknown) => {
      if (!isDeferral(error)) span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    })
  }
}
