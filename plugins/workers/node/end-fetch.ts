import type { Worker } from 'bullmq'

/**
 * Ends the blocking wait of a paused worker on Redis, which would take the next job away from running workers. BullMQ reconnects by
 * itself. A connection that is down takes no jobs and is left alone, because it would not reconnect after a `disconnect`.
 */
export async function endFetch(worker: Worker): Promise<void> {
  const backend = worker.getBackend()
  // biome-ignore lint/complexity/useLiteralKeys: the field is private, and BullMQ's pause ends the wait only if it also waits for jobs
  const waiting: Promise<unknown> | null = worker['waiting']
  if (waiting === null || (await backend.blockingClient)?.status !== 'ready') return
  await backend.disconnectBlocking(true)
}
