import { setTimeout as wait } from 'node:timers/promises'
import type { Job } from 'bullmq'
import type { Queues } from 'zin/plugins/queues'
import type { ListedStatus } from '../contract.js'
import { type BulkAction, isSelected, type Selection } from './filter.js'

/** Jobs of one step: bounds the longest command and the memory of an operation. */
const stepJobs = 100
/** Jobs that one command deletes without their being read: about 4 ms of Redis in a queue of 200,000. */
const deletedAtOnce = 100
/** Jobs that were added so shortly before the start are read one by one: the clocks of the steps are not the one of the start. */
const marginMs = 1_000
/** Longest pause between two such commands. */
const mostPauseMs = 50
/** BullMQ's lists of a state on Redis. */
const listsOf = { waiting: ['wait', 'prioritized'], delayed: ['delayed'] } as const
/** Most jobs that a count reads. */
const mostCounted = 10_000

export interface BulkRun {
  readonly queues: Queues
  readonly queue: string
  readonly action: BulkAction
  readonly selection: Selection
  /** ms since 1970. */
  readonly now: () => number
  /** Acts on one job; false when it was left as it is. */
  readonly apply: (job: Job, state: ListedStatus) => Promise<boolean>
  /** Called after each step; false ends the run. */
  readonly onStep: (step: { readonly looked: number; readonly changed: number }) => Promise<boolean>
}

/** Acts on the selected jobs in small steps. A job that ends or is added meanwhile is not touched. */
export async function runBulk(run: BulkRun): Promise<void> {
  const reads = run.action !== 'purge' || run.selection.maxAttempts !== Number.POSITIVE_INFINITY
  for (const state of run.selection.states) {
    const goesOn = reads || state === 'active' ? await walk(run, state) : await purge(run, state)
    if (!goesOn) return
  }
}

/** Deletes jobs without reading them, as far as the store can, and then the rest one by one. */
async function purge(run: BulkRun, state: Exclude<ListedStatus, 'active'>): Promise<boolean> {
  if (state === 'completed' || state === 'failed') return clean(run, state, 0)
  if (run.queues.backend === 'redis') {
    for (const list of listsOf[state]) if (!(await clean(run, list, marginMs))) return false
  }
  return walk(run, state)
}

/** Deletes the oldest jobs of a list in steps, with a pause after each, so that the store serves others meanwhile. */
async function clean({ now, onStep, queue, queues, selection }: BulkRun, list: CleanedList, margin: number): Promise<boolean> {
  while (true) {
    const started = performance.now()
    const graceMs = Math.max(0, now() - selection.before) + margin
    const removed = await queues.queue(queue).clean(graceMs, deletedAtOnce, list)
    if (!(await onStep({ looked: removed.length, changed: removed.length }))) return false
    if (removed.length === 0) return true
    await wait(Math.min(mostPauseMs, performance.now() - started))
  }
}

type CleanedList = 'completed' | 'failed' | (typeof listsOf)[keyof typeof listsOf][number]

/** Walks through a list; jobs that it changes leave the list, so that only the others move the offset. */
async function walk({ apply, onStep, queue, queues, selection }: BulkRun, state: ListedStatus): Promise<boolean> {
  const total = (await queues.counts(queue))[state]
  let offset = 0
  for (let looked = 0; looked < 2 * total + stepJobs; ) {
    const jobs = await queues.list(queue, state, { offset, limit: stepJobs })
    if (jobs.length === 0) return true
    looked += jobs.length
    const results = await Promise.all(jobs.map(async (job) => isSelected(job, selection) && (await apply(job, state))))
    const changed = results.filter(Boolean).length
    // A cancelled job that runs stays in its list until its processor ends.
    offset += state === 'active' ? jobs.length : jobs.length - changed
    if (!(await onStep({ looked: jobs.length, changed }))) return false
  }
  return true
}

export interface Counted {
  readonly matching: number
  /** False: only the first jobs of each list were read. */
  readonly complete: boolean
  readonly sample: readonly { readonly job: Job; readonly state: ListedStatus }[]
}

/** What an operation would act on: how many jobs, and ten of them. */
export async function countSelected(queues: Queues, queue: string, selection: Selection): Promise<Counted> {
  let matching = 0
  let read = 0
  let complete = true
  const sample: { readonly job: Job; readonly state: ListedStatus }[] = []
  for (const state of selection.states) {
    for (let offset = 0; ; offset += stepJobs) {
      if (read >= mostCounted) {
        complete = false
        break
      }
      const jobs = await queues.list(queue, state, { offset, limit: stepJobs })
      read += jobs.length
      const selected = jobs.filter((job) => isSelected(job, selection))
      matching += selected.length
      for (const job of selected) if (sample.length < 10) sample.push({ job, state })
      if (jobs.length < stepJobs) break
    }
  }
  return { matching, complete, sample }
}
