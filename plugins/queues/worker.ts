import { setTimeout } from 'node:timers/promises'
import type { Processor, Worker, WorkerOptions } from 'bullmq'
import type { QueueBackend } from './backend.js'
import { keepsLateLocks } from './late-locks.js'
import { keepCompleted, keepFailed, removeInTurns } from './retention.js'
import { askBeforeSpans } from './telemetry.js'

/**
 * Creates a worker with the default retention for jobs without their own, such as those of other producers, and with less work per job than
 * BullMQ does: see `waitOnce`, `endWaits`, `askBeforeSpans` and `removeInTurns`.
 */
export function createWorker(
  { keep, makeWorker, relock }: Pick<QueueBackend, 'keep' | 'makeWorker' | 'relock'>,
  name: string,
  processor: Processor,
  { removeOnComplete = keepCompleted, removeOnFail = keepFailed, ...options }: Omit<WorkerOptions, 'connection' | 'prefix'>,
): Worker {
  const worker = makeWorker(name, processor, { ...options, removeOnComplete: keep(removeOnComplete), removeOnFail: keep(removeOnFail) })
  waitOnce(worker)
  endWaits(worker)
  askBeforeSpans(worker)
  removeInTurns(worker, keep)
  keepsLateLocks(worker, relock)
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

/** How long BullMQ waits after a lost connection, in ms. */
const reconnectMs = 100

/**
 * Makes a worker that is paused or closing fetch nothing and wait for nothing. BullMQ fetches once more after its blocking wait, and waits
 * for the end of a rate limit, and after a failed fetch.
 */
function endWaits(worker: Worker): void {
  const isIdle = (): boolean => worker.isPaused() || worker.closing !== undefined
  const fetch = worker as unknown as { moveToActive(...args: readonly unknown[]): Promise<unknown> }
  const moveToActive = fetch.moveToActive.bind(worker)
  fetch.moveToActive = async (...args) => (isIdle() ? undefined : moveToActive(...args))
  let waiting = new AbortController()
  worker.delay = async (ms = reconnectMs, controller) => {
    if (isIdle()) return
    const signals = [waiting.signal, ...(controller ? [controller.signal as AbortSignal] : [])]
    await setTimeout(ms, undefined, { signal: AbortSignal.any(signals) }).catch(() => undefined)
  }
  const end = (): void => {
    waiting.abort()
    waiting = new AbortController()
  }
  worker.on('paused', end)
  worker.on('closing', end)
}
