import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api'
import type { SpanOptions, TraceContext, Traces } from '../contract.js'
import type { W3cPropagator } from './propagator.js'

const intoHeaders = {
  set: (headers: Record<string, string>, name: string, value: string): void => {
    headers[name] = value
  },
}

/** The service, based on a tracer of the SDK. */
export class OtelTraces implements Traces {
  readonly enabled = true
  readonly #tracer: Tracer
  readonly #propagator: W3cPropagator

  constructor(tracer: Tracer, propagator: W3cPropagator) {
    this.#tracer = tracer
    this.#propagator = propagator
  }

  current(): TraceContext | undefined {
    const span = trace.getSpanContext(context.active())
    if (span === undefined || !trace.isSpanContextValid(span)) return undefined
    const { spanId, traceFlags, traceId, traceState } = span
    const state = traceState?.serialize()
    return { traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) === TraceFlags.SAMPLED, ...(state === undefined ? {} : { state }) }
  }

  headers(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
    const all = { ...headers }
    this.#propagator.inject(context.active(), all, intoHeaders)
    return all
  }

  async span<T>(name: string, work: () => T | Promise<T>, { attributes = {}, kind = 'internal' }: SpanOptions = {}): Promise<T> {
    const options = { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes }
    const active = context.active() ?? ROOT_CONTEXT
    const span = this.#tracer.startSpan(name, options, active)
    try {
      return await context.with(trace.setSpan(active, span), work)
    } catch (error) {
      span.recordException(error as Error)
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      span.end()
    }
  }

  readonly fetch: Traces['fetch'] = (url, init = {}) => {
    const { host, origin, pathname } = new URL(url)
    const method = init.method ?? 'GET'
    const attributes = { 'http.request.method': method, 'server.address': host, 'url.full': `${origin}${pathname}` }
    const send = async (): Promise<Response> => {
      const response = await fetch(url, { ...init, headers: this.headers(Object.fromEntries(new Headers(init.headers))) })
      trace.getActiveSpan()?.setAttribute('http.response.status_code', response.status)
      return response
    }
    return this.span(`${method} ${host}`, send, { kind: 'client', attributes })
  }
}
