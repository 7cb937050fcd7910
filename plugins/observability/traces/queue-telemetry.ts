import { type Context, context, type Span as OtelSpan, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import type { Telemetry } from 'bullmq'
import { BullMQOTelSpan, BullMQOtel } from 'bullmq-otel'
import type { QueueTelemetry } from 'zin/plugins/queues'
import { contextOf, type Held } from './context-manager.js'
import type { RootSpans } from './spans.js'
import { UnrecordedTrace } from './unrecorded.js'

type QueueSpan = ReturnType<Telemetry['tracer']['startSpan']>

/** A span that is not recorded: it only sets its context. */
class Unrecorded {
  readonly #onContext: (given: Held) => Held

  constructor(onContext: (given: Held) => Held) {
    this.#onContext = onContext
  }

  setSpanOnContext(given: Held): Held {
    return this.#onContext(given)
  }

  setAttribute(): void {}
  setAttributes(): void {}
  addEvent(): void {}
  recordException(): void {}
  end(): void {}
}

class Recorded extends BullMQOTelSpan {
  override setSpanOnContext(given: Held): Context {
    return super.setSpanOnContext(contextOf(given))
  }

  /** Drops event attributes, because BullMQ puts the results of jobs into them. */
  override addEvent(name: string): void {
    super.addEvent(name, {})
  }
}

/** Used for operations outside of any trace. */
const nothing = new Unrecorded((given) => given)

/**
 * Creates the spans of BullMQ with our tracer. Internal operations of queues and workers (polling for jobs, extending locks) have no spans;
 * other internal operations only have one within a recorded trace.
 */
export function queueTelemetry({ contexts, sampling, tracer }: RootSpans): QueueTelemetry<Held> {
  const bull = new BullMQOtel({ tracerName: 'bullmq' }).contextManager
  const active = (): Held => contexts?.held ?? context.active()
  const isRecording = (): boolean => !(active() instanceof UnrecordedTrace) && trace.getActiveSpan()?.isRecording() === true
  const isPart = (name: string): boolean => !isUpkeep.test(name) && isRecording()
  const spanOf = (span: OtelSpan): QueueSpan =>
    span.isRecording() ? new Recorded(span) : new Unrecorded((given) => trace.setSpan(contextOf(given), span))

  const startSpan = (name: string, options?: { kind?: SpanKind }, parent?: Context): QueueSpan => {
    const { kind = SpanKind.INTERNAL } = options ?? {}
    if (kind === SpanKind.INTERNAL && !isPart(name)) return nothing
    // A worker may have been started within a request, whose trace is unrelated to its jobs.
    return spanOf(tracer.startSpan(name, { kind }, parent ?? (kind === SpanKind.CONSUMER ? ROOT_CONTEXT : context.active())))
  }
  // Metadata is untrusted: it comes from whoever added the job.
  const fromMetadata = (metadata: string): Context => {
    try {
      return bull.fromMetadata(ROOT_CONTEXT, metadata)
    } catch {
      return ROOT_CONTEXT
    }
  }
  const within = <T>(held: Held, work: () => T): T => {
    if (held === active()) return work()
    return contexts === undefined ? context.with(contextOf(held), work) : contexts.within(held, work)
  }
  return {
    tracer: { startSpan } as Telemetry['tracer'],
    contextManager: {
      active,
      with: within,
      getMetadata: (given: Held) => bull.getMetadata(contextOf(given)),
      root: () => ROOT_CONTEXT,
      fromMetadata: (_active, metadata) => fromMetadata(metadata),
    } as Telemetry<Held>['contextManager'],
    leaveOut(kind, operation, metadata) {
      if (kind === SpanKind.CONSUMER) return sampling.leaveOut(metadata === undefined ? ROOT_CONTEXT : fromMetadata(metadata))
      return kind === SpanKind.INTERNAL && !isPart(operation) ? active() : undefined
    },
  }
}

const isUpkeep = /^(getNextJob|extendLocks|startStalledCheckTimer|moveStalledJobsToWait|trimEvents|close|pause|resume|rateLimit)\b/
