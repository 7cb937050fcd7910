import { messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'

export interface PurgeJobsInput {
  readonly queues: Pick<Queues, 'isUnavailable' | 'names' | 'queue'>
  /** Minimum age of deleted jobs, since they ended or were added as dead letters, in ms. */
  readonly ageMs: number
  /** Maximum number of deletions. */
  readonly steps: number
}

export interface PurgedJobs {
  readonly jobs: number
  /** Whether more is left. */
  readonly more: boolean
  /** One sentence for each queue that could not be purged. */
  readonly problems: readonly string[]
}

/** Jobs per deletion. */
const stepJobs = 500
/** Suffix of the queues of permanently failed jobs, which stay in the state `wait`. */
const deadSuffix = '-dead'

/** Deletes records of old ended jobs and old dead letters; jobs that still have to run are kept. A broken queue does not keep the others. */
export async function purgeJobs({ ageMs, queues, steps }: PurgeJobsInput): Promise<PurgedJobs> {
  let jobs = 0
  const problems: string[] = []
  let left = steps
  for (const name of await queues.names()) {
    const states = ['completed', 'failed', ...(name.endsWith(deadSuffix) ? (['wait'] as const) : [])] as const
    try {
      for (const state of states) {
        for (;;) {
          const gone = await queues.queue(name).clean(ageMs, stepJobs, state)
          jobs += gone.length
          if (gone.length > 0 && --left === 0) return { jobs, more: true, problems }
          if (gone.length < stepJobs) break
        }
      }
    } catch (error) {
      if (queues.isUnavailable(error)) throw error
      problems.push(`jobs of queue "${name}": ${messageOf(error)}`)
    }
  }
  return { jobs, more: false, problems }
}
