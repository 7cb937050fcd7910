import type { Job } from 'bullmq'

/**
 * Runs one job. The signal is aborted when the job is cancelled, times out or loses its lock, and when its worker stops and the drain
 * time is over. A function that declares only one or two parameters receives no signal, which is cheaper.
 * The return value is the result of the job and must be JSON.
 *
 * @example
 * export const ZinTrustProcessor: WorkerProcessor = async (job, _token, signal) => {
 *   const response = await fetch(job.data.url, { signal: signal ?? null })
 *   return { status: response.status }
 * }
 */
// biome-ignore lint/suspicious/noExplicitAny: the payload is the app's
export type WorkerProcessor = (job: Job<any>, token?: string, signal?: AbortSignal) => unknown

/** Returns the processor of a worker, or undefined. */
export type ProcessorResolver = (workerName: string) => WorkerProcessor | undefined | Promise<WorkerProcessor | undefined>

/** The code of a version of a worker to load. */
export interface ProcessorSpec {
  readonly worker: string
  readonly version: string
  /** File path or URL; null if it is registered in code as `<worker>@<version>` or `<worker>`, or found by a resolver or the hook. */
  readonly processor: string | null
  readonly isolation: 'inline' | 'thread' | 'process'
  /** Number of jobs that may run at once, which limits the number of threads or processes. */
  readonly concurrency: number
}

/** A processor that is ready to run jobs. */
export interface LoadedProcessor {
  /**
   * Runs one job. An isolated job settles within a few seconds after its signal is aborted, because a job that ignores the signal is
   * killed. An isolated job whose thread or process dies rejects with `PROCESSOR_DIED`, or with `PROCESSOR_INTERRUPTED` if it dies because of the
   * code of an earlier job; other jobs continue.
   */
  readonly run: WorkerProcessor
  /** Sets how many jobs may run at once; inline processors ignore it. */
  resize(concurrency: number): void
  /** Ends threads and processes, killing jobs that still run there. Idempotent. */
  close(): Promise<void>
}
