import type { Context, Next } from 'koa'
import type { Clock, Logger } from 'zin'
import type { TraceContext } from 'zin/plugins/observability'
import type { Scope, Scopes } from './scopes.js'
import { newTrace, readTrace, type Trace } from './trace.js'

export interface TracingOptions {
  readonly scopes: Scopes
  readonly clock: Clock
  readonly log: Logger
  /** Of the lines. */
  readonly service: string
  readonly enabled: boolean
  readonly samplingRate: number
  /** Whether the trace that a request came with is ended here and only linked. */
  readonly restart: boolean
  /** The trace that is recorded, if any: then it is that of the request, and no second one begins. */
  readonly current?: () => TraceContext | undefined
}

const maxTimeoutMs = 600_000

/** Reads the trace, the deadline and the retry mark of each request, runs the rest of it in their scope, and logs sampled requests. */
export function tracingMiddleware(options: TracingOptions): (ctx: Context, next: Next) => Promise<unknown> {
  const { scopes, clock, log, service, enabled, samplingRate, restart, current } = options
  return async (ctx, next) => {
    const { headers } = ctx.req
    const came = readTrace(headers, samplingRate)
    const recorded = current?.()
    const trace =
      recorded !== undefined
        ? { foreignId: came?.foreignId, ...recorded }
        : came === undefined || restart
          ? enabled
            ? newTrace(samplingRate)
            : undefined
          : came
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
      log.info(line(ctx, trace, { service, came, restart, ms: clock.monotonic() - began }), 'request traced')
    }
  }
}

function line(
  ctx: Context,
  trace: Trace,
  { came, ms, restart, service }: { service: string; came: Trace | undefined; restart: boolean; ms: number },
): object {
  const { foreignId, parentId, spanId, traceId } = trace
  return {
    service,
    traceId,
    spanId,
    ...(parentId === undefined ? {} : { parentSpanId: parentId }),
    ...(foreignId === undefined ? {} : { clientTraceId: foreignId }),
    ...(restart && came !== undefined ? { linkedTraceId: came.traceId } : {}),
    method: ctx.method,
    path: ctx.path,
    durationMs: Math.round(ms * 10) / 10,
  }
}
