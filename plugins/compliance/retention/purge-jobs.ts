import type { Queues } from 'zin/plugins/queues'

export interface PurgeJobsInput {
  readonly queues: Pick<Queues, 'names' | 'queue'>
  /** Minimum age of deleted jobs, since they ended or were added as dead letters, in ms. */
  readonly ageMs: number
  /** Maximum number of deletions. */
  readonly steps: number
}

/** Jobs per deletion. */
const stepJobs = 500
/** Suffix of the queues of permanently failed jobs, which stay in the state `wait`. */
const deadSuffix = '-dead'

/** Deletes records of old ended jobs and old dead letters; jobs that still have to run are kept. */
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
