import type { Queues } from 'zin/plugins/queues'

export interface PurgeJobsInput {
  readonly queues: Pick<Queues, 'names' | 'queue'>
  /** Jobs that ended, or were added as dead letters, at least so long ago are deleted, ms. */
  readonly ageMs: number
  /** Commands that delete, at most. */
  readonly steps: number
}

/** Jobs of one command. */
const stepJobs = 500
/** The queue of the jobs of a worker that failed for good ends so; its jobs only wait. */
const deadSuffix = '-dead'

/** Deletes the records of old jobs that have ended, and old dead letters; jobs that still have to run stay. */
export async function purgeJobs({ ageMs, queues, steps }: PurgeJobsInput): Promise<{ readonly jobs: number; readonly more: boolean }> {
  let jobs = 0
  let left = steps
  for (const name of await queues.names()) {
    const states = ['completed', 'failed', ...(name.endsWith(deadSuffix) ? (['wait'] as const) : [])] as const
    for (const state of states) {
      for (;;) {
        const gone = await queues.queue(name).clean(ageMs, stepJobs, state)
        jobs += gone.length
        if (gone.length > 0 && --left === 0) return { jobs, more: true }
        if (gone.length < stepJobs) break
      }
    }
  }
  return { jobs, more: false }
}
