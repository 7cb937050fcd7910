import type { SpanKind, Telemetry, Worker } from 'bullmq'

/** BullMQ telemetry that can decide whether to create a span before it is started. */
export interface QueueTelemetry<Context = unknown> extends Telemetry<Context> {
  /**
   * Returns the context in which a consumer runs work without a span, or undefined to create the span. Without a span, the consumer does not
   * build span attributes either.
   *
   * @param operation `process` for an attempt of a job, `complete` for its end.
   * @param metadata the trace metadata that the job carries from its producer.
   */
  leaveOut?(kind: SpanKind, operation: string, metadata: string | undefined): Context | undefined
}

/** Makes a consumer call `leaveOut` of its telemetry before each span. */
export function askBeforeSpans(worker: Worker): void {
  const { telemetry } = worker.opts as { readonly telemetry?: QueueTelemetry }
  if (telemetry?.leaveOut === undefined) return
  const trace = worker.trace.bind(worker)
  worker.trace = <T>(...[kind, operation, destination, work, metadata]: Parameters<typeof trace<T>>): Promise<T | Promise<T>> => {
    // Work that accepts metadata stores it for the next attempt, which then belongs to the same trace.
    const context = work.length < 2 ? telemetry.leaveOut?.(kind, operation, metadata) : undefined
    if (context === undefined) return trace(kind, operation, destination, work, metadata)
    return telemetry.contextManager.with(context, work as () => Promise<T>)
  }
}
