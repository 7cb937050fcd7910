import type { Context, Next } from 'koa'
import { type Clock, type Logger, reportedPath } from 'zin'
import type { TraceContext } from 'zin/plugins/observability'
import type { Scope, Scopes } from './scopes.js'
import { newTrace, readTrace, type Trace } from './trace.js'

export interface TracingOptions {
  readonly scopes: Scopes
  readonly clock: Clock
  readonly log: Logger
  /** Name logged with each request. */
  readonly service: string
  readonly enabled: boolean
  readonly samplingRate: number
  /** Whether to start a new trace for each request and only link the incoming one. */
  readonly restart: boolean
  /** The recorded trace, if any: it is used for the request instead of a new one. */
  readonly current?: () => TraceContext | undefined
}

const maxTimeoutMs = 600_000

/** Reads the trace, deadline and retry header of each request, runs the rest of the request in that scope, and logs sampled requests. */
export function tracingMiddleware(options: TracingOptions): (ctx: Context, next: Next) => Promise<unknown> {
  const { scopes, clock, log, service, enabled, samplingRate, restart, current } = options
  return async (ctx, next) => {
    const { headers } = ctx.req
    const incoming = readTrace(headers, samplingRate)
    const recorded = current?.()
    const trace =
      recorded !== undefined
        ? { foreignId: incoming?.foreignId, ...recorded }
        : incoming === undefined || restart
          ? enabled
            ? newTrace(samplingRate)
            : undefined
          : incoming
    const ms = Number(headers['x-timeout-ms'])
    const began = clock.monotonic()
    const scope: Scope = {
      ...(trace === undefined ? {} : { trace }),
      ...(ms > 0 ? { deadline: began + Math.min(ms, maxTimeoutMs) } : {}),
      isRetry: headers['x-retry-attempt'] !== undefined,
    }
    if (!enabled || trace?.sampled !== true) return scopes.run(scope, next)
    try {
      return await scopes.run(scope, next)
    } finally {
      log.info(line(ctx, trace, { service, incoming, restart, ms: clock.monotonic() - began }), 'request traced')
    }
  }
}

function line(
  ctx: Context,
  trace: Trace,
  { incoming, ms, restart, service }: { service: string; incoming: Trace | undefined; restart: boolean; ms: number },
): object {
  const { foreignId, parentId, spanId, traceId } = trace
  return {
    service,
    traceId,
    spanId,
    ...(parentId === undefined ? {} : { parentSpanId: parentId }),
    ...(foreignId === undefined ? {} : { clientTraceId: foreignId }),
    ...(restart && incoming !== undefined ? { linkedTraceId: incoming.traceId } : {}),
    method: ctx.method,
    path: reportedPath(ctx, ctx.path),
    durationMs: Math.round(ms * 10) / 10,
  }
}
