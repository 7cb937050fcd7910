import { type Context, context, type Span as OtelSpan, ROOT_CONTEXT, SpanKind, type Tracer, trace } from '@opentelemetry/api'
import type { Telemetry } from 'bullmq'
import { BullMQOTelSpan, BullMQOtel } from 'bullmq-otel'

type QueueSpan = ReturnType<Telemetry['tracer']['startSpan']>

/** A span that is not recorded costs no more than its place in the context. */
class Unrecorded {
  readonly #span: OtelSpan | undefined

  /** @param span what is done below it belongs to it, and is not recorded either; undefined: the context stays as it is. */
  constructor(span?: OtelSpan) {
    this.#span = span
  }

  setSpanOnContext(given: Context): Context {
    return this.#span === undefined ? given : trace.setSpan(given, this.#span)
  }

  setAttribute(): void {}
  setAttributes(): void {}
  addEvent(): void {}
  recordException(): void {}
  end(): void {}
}

/** BullMQ puts the results of jobs into events: they are nobody's business. */
class Recorded extends BullMQOTelSpan {
  override addEvent(name: string): void {
    super.addEvent(name, {})
  }
}

const nothing = new Unrecorded()

/**
 * Spans of BullMQ on our tracer. What a queue or worker does for itself (looking for jobs, extending locks) has no span, unless it is part
 * of something that is traced.
 */
export function queueTelemetry(tracer: Tracer): Telemetry {
  const { contextManager } = new BullMQOtel({ tracerName: 'bullmq' })
  const startSpan = (name: string, options?: { kind?: SpanKind }, parent?: Context): QueueSpan => {
    const { kind = SpanKind.INTERNAL } = options ?? {}
    if (kind === SpanKind.INTERNAL && (isUpkeep.test(name) || trace.getActiveSpan()?.isRecording() !== true)) return nothing
    // A worker may have been started by a request, whose trace is not that of its jobs.
    const span = tracer.startSpan(name, { kind }, parent ?? (kind === SpanKind.CONSUMER ? ROOT_CONTEXT : context.active()))
    return span.isRecording() ? new Recorded(span) : new Unrecorded(span)
  }
  return {
    tracer: { startSpan } as Telemetry['tracer'],
    contextManager: {
      active: () => contextManager.active(),
      with: (given, work) => (given === context.active() ? work() : contextManager.with(given, work)),
      getMetadata: (given) => contextManager.getMetadata(given),
      root: () => ROOT_CONTEXT,
      // Metadata come from whoever added the job.
      fromMetadata: (active, metadata) => {
        try {
          return contextManager.fromMetadata(active, metadata)
        } catch {
          return ROOT_CONTEXT
        }
      },
    } as Telemetry['contextManager'],
  } as Telemetry
}

const isUpkeep = /^(getNextJob|extendLocks|startStalledCheckTimer|moveStalledJobsToWait|trimEvents|close|pause|resume|rateLimit)\b/
