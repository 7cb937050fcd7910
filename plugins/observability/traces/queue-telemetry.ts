import { context, ROOT_CONTEXT, SpanKind, type Tracer, trace } from '@opentelemetry/api'
import type { Telemetry } from 'bullmq'
import { BullMQOTelSpan, BullMQOtel } from 'bullmq-otel'

const nothing = new BullMQOTelSpan(trace.wrapSpanContext({ traceId: '0'.repeat(32), spanId: '0'.repeat(16), traceFlags: 0 }))

/**
 * Spans of BullMQ on our tracer. What a queue or worker does for itself (looking for jobs, extending locks) has no span, unless it is part
 * of something that is traced.
 */
export function queueTelemetry(tracer: Tracer): Telemetry {
  const telemetry = new BullMQOtel({ tracerName: 'bullmq' })
  const { contextManager } = telemetry
  const startSpan: Telemetry['tracer']['startSpan'] = (name, options, parent) => {
    const kind = options?.kind as SpanKind | undefined
    if (kind === SpanKind.INTERNAL && (isUpkeep.test(name) || trace.getActiveSpan()?.isRecording() !== true)) return nothing
    // A worker may have been started by a request, whose trace is not that of its jobs.
    return new BullMQOTelSpan(
      tracer.startSpan(name, { kind: kind ?? SpanKind.INTERNAL }, parent ?? (kind === SpanKind.CONSUMER ? ROOT_CONTEXT : context.active())),
    )
  }
  return {
    tracer: { startSpan } as Telemetry['tracer'],
    contextManager: {
      active: () => contextManager.active(),
      with: (given, work) => contextManager.with(given, work),
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
