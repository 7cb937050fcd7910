import { setTimeout as wait } from 'node:timers/promises'
import type { Job } from 'bullmq'
import type { ChangedJob, Queues, UndoOptions } from 'zin/plugins/queues'
import { type BulkAction, type BulkState, isSelected, matches, type Selection, statesOfCounts } from './filter.js'
import { StuckJobs } from './flow-retry.js'

/** Jobs per step; bounds the duration of store commands and the memory of an operation. */
const stepJobs = 100
/** Limit on the pause between two delete commands, in ms. */
const mostPauseMs = 50
/** Jobs that stay in their list mark where a walk over it goes on. */
const mostAnchors = 20
/** Jobs move between the states while others are changed: the states are walked again until nothing is left to change, at most this often. */
const mostRounds = 10

/** The result of a step. */
export interface BulkStep {
  readonly looked: number
  /** Changed jobs of the queue that match the filter. */
  readonly changed: number
  /** Jobs of their flows that were changed with them, and do not match or are in other queues. */
  readonly related?: number
  /** Deleted jobs that can be restored. */
  readonly restorable?: number
  /** How the number of jobs that match and are skipped has changed. */
  readonly left?: number
}

/** What became of a job: `left` still matches; `gone` was no longer in a state of the filter. */
export interface Applied {
  readonly outcome: 'changed' | 'left' | 'gone'
  /** Other jobs that were changed with it. */
  readonly others?: readonly ChangedJob[]
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
  /** Acts on one job. */
  readonly apply: (job: Job) => Promise<Applied>
  /** Called after each step; resolve to false to end the run. */
  readonly onStep: (step: BulkStep) => Promise<boolean>
}

type DeletedState = Exclude<BulkState, 'active'>

/** The sums of a walk over one state; undefined if the run has been ended. */
type Walked = { readonly changed: number; readonly left: number } | undefined

/** Acts on the selected jobs in small steps. Jobs that finish or are added during the run are not affected. */
export async function runBulk(run: BulkRun): Promise<void> {
  let left = 0
  for (let round = 1; round <= mostRounds; round++) {
    const before = left
    let changed = 0
    left = 0
    for (const state of run.selection.states) {
      const walked = run.action === 'purge' && state !== 'active' ? await purge(run, state, round) : await walk(run, state)
      if (walked === undefined) return
      changed += walked.changed
      left += walked.left
    }
    const goesOn = await run.onStep({ looked: 0, changed: 0, left: left - before })
    if (!goesOn || changed === 0) return
  }
}

/** Deletes jobs without reading them, with a pause after each step so that the store can serve other clients. */
async function purge(run: BulkRun, state: DeletedState, round: number): Promise<Walked> {
  const { flows, onStep, queue, queues, selection, undo } = run
  const keepsTied = undo !== undefined || !flows
  let [tied, changed, started] = [0, 0, performance.now()]
  // The first round has made parents fail whose children it deleted.
  const range = { ...rangeOf(selection, state), exceptFailing: round > 1 }
  for await (const step of queues.deleteJobs(queue, range, undo)) {
    tied += step.tied
    changed += step.deleted
    if (!(await onStep({ looked: step.looked, changed: step.deleted, restorable: step.restorable }))) return undefined
    await wait(Math.min(mostPauseMs, performance.now() - started))
    started = performance.now()
  }
  if (keepsTied || tied === 0) return { changed, left: tied }
  const walked = await walk(run, state)
  return walked && { changed: changed + walked.changed, left: walked.left }
}

/** Walks through a list. Jobs leave it meanwhile, so each page begins after the last job that is known to stay. */
async function walk({ action, apply, onStep, queue, queues, selection }: BulkRun, state: BulkState): Promise<Walked> {
  const total = (await queues.counts(queue))[statesOfCounts[state]]
  let [changed, left] = [0, 0]
  let after: readonly string[] = []
  for (let looked = 0; looked < 2 * total + stepJobs; ) {
    const jobs = await queues.list(queue, state, { limit: stepJobs, after })
    if (jobs.length === 0) break
    looked += jobs.length
    const all = await Promise.all(jobs.map(async (job) => (isSelected(job, state, action, selection) ? apply(job) : undefined)))
    const others = all.flatMap((one) => one?.others ?? [])
    const own = others.filter((job) => job.queue === queue && matches(job, selection)).length
    const done = all.filter((one) => one?.outcome === 'changed').length + own
    changed += done
    left += all.filter((one) => one?.outcome === 'left').length
    // A cancelled running job stays in its list until its processor has ended.
    const stay = jobs.filter((_, i) => state === 'active' || all[i] === undefined || all[i]?.outcome === 'left').map(({ id = '' }) => id)
    after = [...after, ...stay].slice(-mostAnchors)
    if (!(await onStep({ looked: jobs.length, changed: done, related: others.length - own }))) return undefined
  }
  return { changed, left }
}

export interface Counted {
  /** Jobs that the operation would change. */
  readonly matching: number
  /** Jobs of the filter that it would skip. */
  readonly left: number
  /** With an undo: how many of the jobs it could restore. */
  readonly restorable: number
  readonly sample: readonly { readonly job: Job; readonly state: string }[]
  /** False if there were too many failed parents to check whether each can be retried. */
  readonly complete: boolean
}

const mostSample = 10
/** For a dry run of a retry: failed parents that are read to find those that cannot be retried, and jobs below them. */
const mostChecked = 10_000

/** Counts the jobs that an operation would act on, with a sample of up to ten. */
export async function countSelected({
  action,
  flows,
  queue,
  queues,
  selection,
  undoable,
}: Pick<BulkRun, 'queues' | 'queue' | 'action' | 'selection' | 'flows'> & { readonly undoable: boolean }): Promise<Counted> {
  let [matching, left, restorable] = [0, 0, 0]
  let room = undoable ? await queues.undoRoom(queue) : { jobs: 0, bytes: 0 }
  const ids: string[] = []
  const parents: string[] = []
  for (const state of selection.states) {
    if (state === 'active') {
      for await (const job of activeJobs(queues, queue)) {
        if (!isSelected(job, state, action, selection)) continue
        matching++
        if (ids.length < mostSample) ids.push(job.id ?? '')
      }
      continue
    }
    const options = { sample: mostSample - ids.length, parents: action === 'retry' && state === 'failed' }
    for await (const step of queues.countJobs(queue, rangeOf(selection, state), room, options)) {
      const { flow, flowFailing, free, freeFailing, scheduled } = step
      room = { jobs: room.jobs - step.restorable, bytes: room.bytes - step.bytes }
      restorable += step.restorable
      ids.push(...step.ids.slice(0, mostSample - ids.length))
      parents.push(...step.parents.slice(0, mostChecked + 1 - parents.length))
      if (action === 'retry') matching += free + freeFailing + flow + flowFailing
      else if (action === 'cancel') matching += free + flow
      else matching += free + freeFailing + (undoable || !flows ? 0 : flow)
      if (action !== 'retry') left += scheduled
      if (action === 'purge' && (undoable || !flows)) left += flow + flowFailing
    }
  }
  const stuck = await stuckJobs(queues, queue, parents)
  const free = ids.filter((id) => !stuck.ids.has(id))
  const sample = (await Promise.all(free.map((id) => queues.job(queue, id)))).filter((one) => one !== undefined)
  return { matching: matching - stuck.ids.size, left: left + stuck.ids.size, restorable, sample, complete: stuck.complete }
}

/** Those failed parents that cannot be retried, because a child that they need no longer exists. */
async function stuckJobs(
  queues: Queues,
  queue: string,
  parents: readonly string[],
): Promise<{ readonly ids: ReadonlySet<string>; readonly complete: boolean }> {
  const stuck = new StuckJobs(queues, mostChecked)
  const ids = new Set<string>()
  for (let first = 0; first < Math.min(parents.length, mostChecked) && stuck.complete; first += stepJobs) {
    await Promise.all(
      parents.slice(first, first + stepJobs).map(async (id) => {
        const parent = await queues.job(queue, id)
        if (parent !== undefined && (await stuck.has(parent.job))) ids.add(id)
      }),
    )
  }
  return { ids, complete: stuck.complete && parents.length <= mostChecked }
}

async function* activeJobs(queues: Queues, queue: string): AsyncGenerator<Job, void, undefined> {
  let after: readonly string[] = []
  const seen = new Set<string>()
  while (true) {
    const jobs = (await queues.list(queue, 'active', { limit: stepJobs, after })).filter(({ id = '' }) => !seen.has(id))
    if (jobs.length === 0) return
    for (const { id = '' } of jobs) seen.add(id)
    after = jobs.map(({ id = '' }) => id).slice(-mostAnchors)
    yield* jobs
  }
}

function rangeOf({ before, maxAttempts }: Selection, state: DeletedState) {
  return { state, before, ...(Number.isFinite(maxAttempts) ? { maxAttempts } : {}) }
}
