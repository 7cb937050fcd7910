import type { Worker } from 'bullmq'

/**
 * Ends the wait of a paused worker for its next job on Redis, which would take that job from those who do it. The worker connects
 * again by itself. A connection that is down takes no jobs and is left alone: it comes back by itself only then.
 */
export async function endFetch(worker: Worker): Promise<void> {
  const backend = worker.getBackend()
  // biome-ignore lint/complexity/useLiteralKeys: it is private, and its own pause ends the wait only when it waits for jobs as well
  const waiting: Promise<unknown> | null = worker['waiting']
  if (waiting === null || (await backend.blockingClient)?.status !== 'ready') return
  await backend.disconnectBlocking(true)
}
