import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { NewJob } from 'zin/plugins/queues'
import { fakeClock } from 'zin/testing'
import type { IndexedJob } from '../store/subject-index.js'
import { packed } from './digest.js'
import { type ErasedJobsParts, removeErased, sweepErased } from './erased-jobs.js'

const ann = 'a'.repeat(43)
const bob = 'b'.repeat(43)
const unreadable = 'u'.repeat(43)

function erasedJobs(running: readonly string[] = []) {
  const clock = fakeClock()
  const rows = new Map<string, IndexedJob & { erased: number | undefined }>()
  const keyOf = ({ job, subject }: Pick<IndexedJob, 'job' | 'subject'>): string => subject + job
  const purged: string[] = []
  const parts: ErasedJobsParts = {
    clock,
    queues: { dropNext: async (_queue, id) => void purged.push(`next of ${id}`) },
    stored: {
      async purge(_queue, ids, [subject = '']) {
        if (subject === unreadable) throw new Error('its key is not configured')
        purged.push(...ids.filter((id) => !running.includes(id)))
        return { removed: [], running: ids.filter((id) => running.includes(id)) }
      },
      purgeSchedule: async (_queue, id) => purged.push(`schedule ${id}`) > 0,
    },
    index: {
      addErased: async (entries) => entries.forEach((one) => void rows.set(keyOf(one), { ...one, erased: one.at })),
      live: async (entries) => entries.filter((one) => rows.has(keyOf(one)) && rows.get(keyOf(one))?.erased === undefined),
      erasedBefore: async (before) => [...rows.values()].filter(({ erased = Number.POSITIVE_INFINITY }) => erased < before),
      removeErased: async (_queue, jobs, subjects) => {
        for (const [key, { job, subject }] of rows) if (jobs.includes(job) && subjects.includes(subject)) rows.delete(key)
      },
      touch: async (_queue, jobs, at) => {
        for (const row of rows.values()) if (jobs.includes(row.job)) row.erased = at
      },
    },
  }
  const index = (subject: string, job: string, erased?: number): void => {
    rows.set(subject + job, { subject, queue: 'orders', job, at: clock.now(), erased })
  }
  const job = (id: string, ...subjects: readonly string[]): NewJob => ({ name: 'x', options: { jobId: id, subject: packed(subjects) } })
  return { clock, index, job, parts, purged, rows }
}

it('an added job stays if the entries of all its subjects are as it wrote them, and goes if one is marked or missing', async () => {
  const { index, job, parts, purged } = erasedJobs()
  for (const one of ['stays', 'marked']) index(ann, one)
  index(bob, 'stays')
  index(bob, 'marked', 1)
  index(ann, 'missing')
  await removeErased(parts)(
    ['stays', 'marked', 'missing'].map((id) => job(id, ann, bob)),
    'orders',
    {},
  )
  await removeErased(parts)([{ name: 'x' }, job('', ann)], 'orders', { schedule: 'yearly' })
  const { options } = job('missing', bob)
  await removeErased(parts)([{ name: 'x', options: { ...options, deduplication: { id: 'one', mode: 'keep-latest' } } }], 'orders', {})
  assert.deepEqual(purged, ['marked', 'missing', 'schedule yearly', 'missing', 'next of one'])
})

it('an erased job that arrives after its producer has ended is removed later, and one that a worker has taken when it ends', async () => {
  const running = ['taken']
  const { clock, index, job, parts, purged, rows } = erasedJobs(running)
  index(ann, 'late', clock.now())
  index(ann, '@yearly', clock.now())
  await removeErased(parts)([job('taken', ann)], 'orders', {})
  await sweepErased(parts)
  assert.deepEqual(purged, [])
  clock.advance(600_001)
  await sweepErased(parts)
  assert.deepEqual([purged, [...rows.values()].map((row) => row.job)], [['schedule yearly', 'late'], ['taken']])
  running.length = 0
  clock.advance(600_001)
  await sweepErased(parts)
  assert.deepEqual([purged.at(-1), rows.size], ['taken', 0])
})

it('one erased job that cannot be read keeps no other one from being removed', async () => {
  const { clock, index, parts, purged, rows } = erasedJobs()
  index(unreadable, 'sealed', clock.now())
  index(ann, 'late', clock.now())
  clock.advance(600_001)
  await sweepErased(parts)
  assert.deepEqual([purged, [...rows.values()].map((row) => row.job)], [['late'], ['sealed']])
})
