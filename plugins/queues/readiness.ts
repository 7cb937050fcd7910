import type { Worker } from 'bullmq'

/**
 * Makes a worker wait for its connections only once. BullMQ waits again before it completes each job, although connections that were ready
 * once count as ready from then on, and each wait creates six promises.
 */
export function waitOnce(worker: Worker): void {
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
