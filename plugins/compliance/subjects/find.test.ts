import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DeletedJob, Queues } from 'zin/plugins/queues'
import { fakeClock } from 'zin/testing'
import type { Marks } from '../store/marks.js'
import type { IndexedJob, SubjectIndex } from '../store/subject-index.js'
import type { SubjectDigests } from './digest.js'
import { SubjectJobs } from './find.js'
import { StoredSubjects } from './stored.js'

const live = ['waiting-children', 'delayed', 'waiting', 'active', 'failed', 'completed'] as const
const places = [...live, 'deleted'] as const
type Place = (typeof places)[number]

/** A queue of ann's jobs that were added before there was an index, and a search in it. `onRead` runs before each page is read. */
function search(jobs: Map<string, Place>, onRead: (read: number, place: Place) => void) {
  const clock = fakeClock()
  const rows = new Map<string, IndexedJob>()
  const written = new Map<string, string>()
  let reads = 0
  const page = (place: Place, { limit, offset = 0 }: { readonly limit: number; readonly offset?: number }) => {
    onRead(++reads, place)
    const ids = [...jobs].filter(([, at]) => at === place).map(([id]) => id)
    return ids
      .slice(offset, offset + limit)
      .map((id): DeletedJob => ({ id, queueName: 'orders', data: { user: 'ann' }, opts: {}, timestamp: 0 }))
  }
  const queues = {
    names: async () => ['orders'],
    queue: () => ({ getJobSchedulers: async () => [] }),
    list: async (_queue: string, state: Place, of: { readonly limit: number; readonly offset?: number }) => page(state, of),
    deletedJobs: async (_queue: string, of: { readonly limit: number; readonly offset: number }) => page('deleted', of),
    restoredData: async ({ data }: { readonly data: unknown }) => data,
  } as unknown as Queues
  const keyOf = ({ job, subject }: IndexedJob): string => `${subject} ${job}`
  const index = {
    find: async () => [],
    addMissing: async (entries: readonly IndexedJob[]) => {
      const missing = entries.filter((one) => !rows.has(keyOf(one)))
      for (const one of missing) rows.set(keyOf(one), one)
      return missing.length
    },
  } as unknown as SubjectIndex
  const marks = {
    get: async (name: string) => written.get(name),
    set: async (name: string, value: string) => void written.set(name, value),
  } as unknown as Marks
  const digests = {
    of: (text: string) => `digest of ${text}`,
    allKnown: (text: string) => [`digest of ${text}`],
    allOf: async (text: string) => ({ digests: [`digest of ${text}`], lost: [] }),
  } as unknown as SubjectDigests
  const declarations = { orders: ['user'] }
  const stored = new StoredSubjects({ queues, declarations, digests })
  const finding = new SubjectJobs({
    queues,
    index,
    marks,
    copies: { match: async () => true, renew: async () => undefined },
    declarations,
    digests,
    stored,
    clock,
    pauseMs: 0,
  })
  return {
    indexed: () => rows.size,
    marked: () => written.size > 0,
    reads: () => reads,
    async run() {
      const found = new Set<string>()
      let unsettled = false
      for await (const step of finding.find('ann', AbortSignal.timeout(60_000))) {
        for (const id of step.jobs) found.add(id)
        unsettled ||= step.unsettled === true
      }
      return { found, unsettled }
    },
  }
}

/** Ids of jobs in one place; more than two pages of them. */
const some = (place: Place, count = 60): Map<string, Place> =>
  new Map(Array.from({ length: count }, (_, n) => [`${place}-${n}`, place] as const))

for (const from of places) {
  it(`a search finds all jobs that move from "${from}" to any other state, at whichever of its steps they do`, async () => {
    for (const to of places.filter((place) => place !== from)) {
      for (let at = 1, last = at; at <= last; at++) {
        const jobs = some(from)
        const ids = [...jobs.keys()]
        const { marked, reads, run } = search(jobs, (read) => {
          // Half of those that were read, and half of the others.
          if (read === at) for (const id of ids.filter((_, n) => n % 2 === 0)) jobs.set(id, to)
        })
        const { found, unsettled } = await run()
        const moved = `${from} to ${to} at step ${at}`
        assert.deepEqual([found.size, unsettled, marked()], [ids.length, false, true], moved)
        last = reads()
      }
    }
  })
}

it('a search finds a job that is retried in each of its walks, and fails again after it', async () => {
  const jobs = some('completed')
  const { run } = search(jobs, (_read, place) => {
    if (place === 'failed') jobs.set('again', 'waiting')
    else if (place === 'deleted' || place === 'waiting-children') jobs.set('again', 'failed')
  })
  const { found, unsettled } = await run()
  assert.deepEqual([found.has('again'), unsettled], [true, false])
})

it('a search that finds something new in each walk says that it is not complete, is bounded, and is repeated by the next one', async () => {
  const jobs = some('failed', 3)
  let stops = false
  const { indexed, marked, reads, run } = search(jobs, (read) => void (stops || jobs.set(`new-${read}`, 'failed')))
  const first = await run()
  assert.deepEqual([first.unsettled, marked()], [true, false])
  assert.ok(reads() < 1_000, `${reads()} reads`)
  stops = true
  const second = await run()
  assert.deepEqual([second.unsettled, marked(), second.found.size, indexed()], [false, true, jobs.size, jobs.size])
})
