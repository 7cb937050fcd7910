import type { SpanKind, Telemetry, Worker } from 'bullmq'

/** Telemetry of BullMQ that can tell before a span is begun whether there is to be one. */
export interface QueueTelemetry<Context = unknown> extends Telemetry<Context> {
  /**
   * The context in which a consumer runs work that has no span; undefined: it has one. A consumer that leaves a job out makes none of the
   * attributes of its spans.
   *
   * @param operation `process` for an attempt of a job, `complete` for its end.
   * @param metadata what the job carries from who added it.
   */
  leaveOut?(kind: SpanKind, operation: string, metadata: string | undefined): Context | undefined
}

/** Has a consumer ask its telemetry before each span. */
export function askBeforeSpans(worker: Worker): void {
  const { telemetry } = worker.opts as { readonly telemetry?: QueueTelemetry }
  if (telemetry?.leaveOut === undefined) return
  const trace = worker.trace.bind(worker)
  worker.trace = <T>(...[kind, operation, destination, work, metadata]: Parameters<typeof trace<T>>): Promise<T | Promise<T>> => {
    // Work that takes metadata keeps them for the next attempt, which is then of the same trace.
    const context = work.length < 2 ? telemetry.leaveOut?.(kind, operation, metadata) : undefined
    if (context === undefined) return trace(kind, operation, destination, work, metadata)
    return telemetry.contextManager.with(context, work as () => Promise<T>)
  }
}
