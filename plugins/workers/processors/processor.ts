import type { Job } from 'bullmq'

/**
 * Does one job. The third argument is aborted when the job is cancelled, timed out, or its worker is stopped for good; a function that
 * declares one or two parameters gets none, which is cheaper.
 * What it returns is the result of the job and must be JSON.
 *
 * @example
 * export const ZinTrustProcessor: WorkerProcessor = async (job, _token, signal) => {
 *   const answer = await fetch(job.data.url, { signal: signal ?? null })
 *   return { status: answer.status }
 * }
 */
// biome-ignore lint/suspicious/noExplicitAny: the payload is the app's
export type WorkerProcessor = (job: Job<any>, token?: string, signal?: AbortSignal) => unknown

/** Finds the processor of a worker, or answers undefined. */
export type ProcessorResolver = (workerName: string) => WorkerProcessor | undefined | Promise<WorkerProcessor | undefined>

/** Which code to load, from a version of a worker. */
export interface ProcessorSpec {
  readonly worker: string
  readonly version: string
  /** A file path or URL; null: registered in code as `<worker>@<version>`, as `<worker>`, or found by a resolver or the hook. */
  readonly processor: string | null
  readonly isolation: 'inline' | 'thread' | 'process'
  /** Jobs that may run at once, for the number of threads or processes. */
  readonly concurrency: number
}

/** Code that is ready to do jobs. */
export interface LoadedProcessor {
  /**
   * Does one job. It settles within a few seconds after the signal is aborted when it is isolated: what ignores the signal is
   * killed. An isolated job whose thread or process dies rejects with `PROCESSOR_DIED`; others go on.
   */
  readonly run: WorkerProcessor
  /** How many jobs it takes at once from now on; inline ones ignore it. */
  resize(concurrency: number): void
  /** Ends threads and processes; jobs that still run there are killed. Safe to repeat. */
  close(): Promise<void>
}
