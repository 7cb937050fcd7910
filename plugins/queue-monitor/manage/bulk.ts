import { setTimeout as wait } from 'node:timers/promises'
import type { Job } from 'bullmq'
import type { Queues, UndoOptions } from 'zin/plugins/queues'
import type { ListedStatus } from '../contract.js'
import { type BulkAction, isSelected, type Selection } from './filter.js'

/** Jobs per step; bounds the duration of store commands and the memory of an operation. */
const stepJobs = 100
/** Jobs of a flow added less than this before the start are checked one by one, because the clock of the store may differ. */
const marginMs = 1_000
/** Limit on the pause between two delete commands, in ms. */
const mostPauseMs = 50
/** BullMQ's lists by state. The embedded store uses the same names. */
const listsOf = { waiting: ['wait', 'prioritized'], delayed: ['delayed'], completed: ['completed'], failed: ['failed'] } as const
/** Limit on jobs read by a count. */
const mostCounted = 10_000

/** The result of a step. */
export interface BulkStep {
  readonly looked: number
  readonly changed: number
  /** Deleted jobs that can be restored. */
  readonly restorable?: number
  /** Jobs skipped because others depend on them. */
  readonly left?: number
}

export interface BulkRun {
  readonly queues: Queues
  readonly queue: string
  readonly action: BulkAction
  readonly selection: Selection
  /** For a purge; if absent, jobs are deleted permanently. */
  readonly undo?: UndoOptions
  /** For a permanent purge: also delete jobs of flows, whose children may be in other queues. */
  readonly flows: boolean
  /** In ms since the Unix epoch. */
  readonly now: () => number
  /** Acts on one job; resolves to false if the job was not changed. */
  readonly apply: (job: Job, state: ListedStatus) => Promise<boolean>
  /** Called after each step; resolve to false to end the run. */
  readonly onStep: (step: BulkStep) => Promise<boolean>
}

type DeletedStatus = Exclude<ListedStatus, 'active'>

/** Acts on the selected jobs in small steps. Jobs that finish or are added during the run are not affected. */
export async function runBulk(run: BulkRun): Promise<void> {
  for (const state of run.selection.states) {
    const goesOn = run.action === 'purge' && state !== 'active' ? await purge(run, state) : await walk(run, state)
    if (!goesOn) return
  }
}

/** Deletes jobs without reading them, with a pause after each step so that the store can serve other clients. */
async function purge(run: BulkRun, state: DeletedStatus): Promise<boolean> {
  const { flows, onStep, queue, queues, selection, undo } = run
  const { before, maxAttempts } = selection
  const keepsTied = undo !== undefined || !flows
  const range = { state, before, ...(Number.isFinite(maxAttempts) ? { maxAttempts } : {}) }
  let tied = 0
  let started = performance.now()
  for await (const step of queues.deleteJobs(queue, range, undo)) {
    tied += step.tied
    const left = keepsTied ? step.tied : 0
    if (!(await onStep({ looked: step.looked - step.tied + left, changed: step.deleted, restorable: step.restorable, left }))) return false
    await wait(Math.min(mostPauseMs, performance.now() - started))
    started = performance.now()
  }
  return keepsTied || tied === 0 || purgeTied(run, state)
}

/** Deletes jobs of flows, in a permanent purge by credentials for all queues. */
async function purgeTied(run: BulkRun, state: DeletedStatus): Promise<boolean> {
  const { now, onStep, queue, queues, selection } = run
  for (const list of Number.isFinite(selection.maxAttempts) ? [] : listsOf[state]) {
    while (true) {
      const graceMs = Math.max(0, now() - selection.before) + marginMs
      const removed = await queues.queue(queue).clean(graceMs, stepJobs, list)
      if (removed.length === 0) break
      if (!(await onStep({ looked: removed.length, changed: removed.length }))) return false
      await wait(mostPauseMs)
    }
  }
  return walk(run, state)
}

/** Walks through a list. Changed jobs leave the list, so the offset advances only by the unchanged ones. */
async function walk({ apply, onStep, queue, queues, selection }: BulkRun, state: ListedStatus): Promise<boolean> {
  const total = (await queues.counts(queue))[state]
  let offset = 0
  for (let looked = 0; looked < 2 * total + stepJobs; ) {
    const jobs = await queues.list(queue, state, { offset, limit: stepJobs })
    if (jobs.length === 0) return true
    looked += jobs.length
    const results = await Promise.all(jobs.map(async (job) => isSelected(job, selection) && (await apply(job, state))))
    const changed = results.filter(Boolean).length
    // A cancelled running job stays in its list until its processor has ended.
    offset += state === 'active' ? jobs.length : jobs.length - changed
    if (!(await onStep({ looked: jobs.length, changed }))) return false
  }
  return true
}

export interface Counted {
  readonly matching: number
  /** False if not all jobs were read. */
  readonly complete: boolean
  /** Approximate size of their stored data. */
  readonly bytes: number
  readonly sample: readonly { readonly job: Job; readonly state: ListedStatus }[]
}

/** Counts the jobs an operation would act on, with a sample of up to ten. */
export async function countSelected(queues: Queues, queue: string, selection: Selection): Promise<Counted> {
  let matching = 0
  let bytes = 0
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
      for (const job of selected) bytes += storedBytes(job)
      for (const job of selected) if (sample.length < 10) sample.push({ job, state })
      if (jobs.length < stepJobs) break
    }
  }
  return { matching, complete, bytes, sample }
}

/** Estimates the stored size of a job, as counted by the store. */
function storedBytes({ data, opts, returnvalue, stacktrace }: Job): number {
  return 200 + [data, opts, returnvalue, stacktrace].reduce((sum, part) => sum + (JSON.stringify(part)?.length ?? 0), 0)
}
