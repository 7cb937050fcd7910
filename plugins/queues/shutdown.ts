import type { Worker } from 'bullmq'

/** How long running jobs may continue, then how long a cancelled one may take to end, in ms. The host allows 10 s for a stop. */
const graceMs = 4000
const cancelMs = 1000

/** Waits for running jobs, then cancels them. Returns false when a job ignores that; it runs again later. */
export async function closeWorker(worker: Worker): Promise<boolean> {
  const closing = worker.close()
  if (await within(closing, graceMs)) return true
  worker.cancelAllJobs('shutdown')
  if (await within(closing, cancelMs)) return true
  // That close is still pending. The timers that it would clear at its end, for stalled jobs and for locks, keep the process alive.
  await worker.pause(true)
  // biome-ignore lint/complexity/useLiteralKeys: the field is protected, and only the pending close could clear it
  await worker['lockManager'].close()
  await within(worker.disconnect(), 500)
  return false
}

/** Whether the work settled in time; a failure counts. */
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
