import type { Worker } from 'bullmq'

/** How long running jobs may go on, then how long a cancelled one may take to notice, in ms. The host gives a stop 10 s. */
const graceMs = 4000
const cancelMs = 1000

/** Lets running jobs end, cancels what takes too long, and gives up on what ignores that: its job runs again later. False then. */
export async function closeWorker(worker: Worker): Promise<boolean> {
  const closing = worker.close()
  if (await within(closing, graceMs)) return true
  worker.cancelAllJobs('shutdown')
  if (await within(closing, cancelMs)) return true
  // That close goes on waiting. The timers it would clear at its end keep the process alive: of stalled jobs, and of the locks.
  await worker.pause(true)
  // biome-ignore lint/complexity/useLiteralKeys: it is protected, and only its close could reach it
  await worker['lockManager'].close()
  await within(worker.disconnect(), 500)
  return false
}

/** Whether the work ended in time; a failure is an end. */
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
