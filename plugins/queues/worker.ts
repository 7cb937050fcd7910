import type { Processor, Worker, WorkerOptions } from 'bullmq'
import type { QueueBackend } from './backend.js'
import { keepCompleted, keepFailed, removeInTurns } from './retention.js'
import { askBeforeSpans } from './telemetry.js'

/**
 * Creates a worker with the default retention for jobs without their own, such as those of other producers, and with less work per job than
 * BullMQ does: see `waitOnce`, `askBeforeSpans` and `removeInTurns`.
 */
export function createWorker(
  { keep, makeWorker }: Pick<QueueBackend, 'keep' | 'makeWorker'>,
  name: string,
  processor: Processor,
  { removeOnComplete = keepCompleted, removeOnFail = keepFailed, ...options }: Omit<WorkerOptions, 'connection' | 'prefix'>,
): Worker {
  const worker = makeWorker(name, processor, { ...options, removeOnComplete: keep(removeOnComplete), removeOnFail: keep(removeOnFail) })
  waitOnce(worker)
  askBeforeSpans(worker)
  removeInTurns(worker, keep)
  return worker
}

/**
 * Makes a worker wait for its connections only once. BullMQ waits again before it completes each job, although connections that were ready
 * once count as ready from then on, and each wait creates six promises.
 */
function waitOnce(worker: Worker): void {
  const waitUntilReady = worker.waitUntilReady.bind(worker)
  let ready: Promise<void> | undefined
  worker.waitUntilReady = () => {
    ready ??= waitUntilReady().catch((error: unknown) => {
      ready = undefined
      throw error
    })
    return ready
  }
}
