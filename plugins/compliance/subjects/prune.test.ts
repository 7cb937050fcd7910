import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Queues } from 'zin/plugins/queues'
import type { IndexedJob, SubjectIndex } from '../store/subject-index.js'
import { pruneIndex } from './prune.js'

/** An index of jobs in memory. */
function memoryIndex(jobs: number) {
  let entries: readonly IndexedJob[] = Array.from({ length: jobs }, (_, at) => ({ subject: 's', queue: 'orders', job: String(at), at }))
  const index = {
    touch: async (_queue: string, jobs: readonly string[], at: number) => {
      entries = entries.map((one) => (jobs.includes(one.job) ? { ...one, at } : one))
    },
    removeOld: async (_queue: string, jobs: readonly string[], before: number) => {
      entries = entries.filter(({ at, job }) => at >= before || !jobs.includes(job))
    },
    olderThan: async (before: number, limit: number) =>
      entries
        .filter(({ at }) => at < before)
        .sort((a, b) => a.at - b.at)
        .slice(0, limit),
  } as unknown as SubjectIndex
  return { index, jobs: () => entries.map(({ job }) => job) }
}

function storedJobs(exists: (id: string) => boolean, isDeleted: (id: string) => boolean = () => false): Queues {
  return {
    job: async (_queue: string, id: string) => (exists(id) ? {} : undefined),
    deletedJob: async (_queue: string, id: string) => (isDeleted(id) ? { id } : undefined),
  } as unknown as Queues
}

it('pruning reaches every old entry of the subject index, even if the oldest jobs still exist', async () => {
  // 300 delayed jobs are older than a job that is gone.
  const { index, jobs } = memoryIndex(301)
  const queues = storedJobs((id) => id !== '300')
  for (let run = 0; run < 2; run++) await pruneIndex({ queues, index, before: 1_000, now: 2_000 })
  assert.deepEqual([jobs().length, jobs().includes('300')], [300, false])
})

it('pruning keeps the entries of deleted jobs that can still be restored', async () => {
  const { index, jobs } = memoryIndex(60)
  const queues = storedJobs(
    () => false,
    (id) => Number(id) >= 58,
  )
  await pruneIndex({ queues, index, before: 1_000, now: 2_000 })
  assert.deepEqual([...jobs()].sort(), ['58', '59'])
})
