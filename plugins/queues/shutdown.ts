import type { Worker } from 'bullmq'

/** How long running jobs may continue, and then how long a cancelled job may take to end, in ms. The host allows 10 s for a stop. */
const graceMs = 4000
const cancelMs = 1000

/** Waits for running jobs, then cancels them. Returns false if a job ignores the cancellation; it runs again later. */
export async function closeWorker(worker: Worker): Promise<boolean> {
  const closing = worker.close()
  if (await within(closing, graceMs)) return true
  worker.cancelAllJobs('shutdown')
  if (await within(closing, cancelMs)) return true
  // The close is still pending. The timers for stalled jobs and locks, which it clears only at its end, would keep the process alive.
  await worker.pause(true)
  // biome-ignore lint/complexity/useLiteralKeys: the field is protected, and only the pending close could clear it
  await worker['lockManager'].close()
  await within(worker.disconnect(), 500)
  return false
}

/** Whether the work settled in time, even if it failed. */
export async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  try {
    return await Promise.race([
      work.then(
        () => true,
        () => true,
      ),
      late,
    ])
  } finally {
    clearTimeout(timer)
  }
}
