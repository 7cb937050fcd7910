import {
  type Context,
  createTraceState,
  isSpanContextValid,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  TraceFlags,
  trace,
} from '@opentelemetry/api'

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Propagates W3C Trace Context in headers and job metadata. @see https://www.w3.org/TR/trace-context/ */
export class W3cPropagator implements TextMapPropagator {
  inject<C>(context: Context, carrier: C, { set }: TextMapSetter<C>): void {
    const span = trace.getSpanContext(context)
    if (span === undefined || !isSpanContextValid(span)) return
    const sampled = (span.traceFlags & TraceFlags.SAMPLED) === TraceFlags.SAMPLED
    set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-0${sampled ? 1 : 0}`)
    const state = span.traceState?.serialize()
    if (state !== undefined && state !== '') set(carrier, 'tracestate', state)
  }

  extract<C>(context: Context, carrier: C, { get }: TextMapGetter<C>): Context {
    const given = get(carrier, 'traceparent')
    if (typeof given !== 'string') return context
    const [, version, traceId = '', spanId = '', flags = '', rest] = traceparent.exec(given) ?? []
    if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return context
    const state = get(carrier, 'tracestate')
    const span = {
      traceId,
      spanId,
      traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
      isRemote: true,
      ...(typeof state === 'string' && state.length <= 512 ? { traceState: createTraceState(state) } : {}),
    }
    return isSpanContextValid(span) ? trace.setSpanContext(context, span) : context
  }

  fields(): string[] {
    return ['traceparent', 'tracestate']
  }
}
