import type { Job, Queue } from 'bullmq'
import type { QueueBackend } from './backend.js'
import type { QueueJob } from './cancel.js'
import type { Purged, PurgeOptions } from './contract.js'
import type { ForgottenJob } from './deletion/contract.js'
import { attemptsOf } from './flows/child-errors.js'
import type { PurgedJob } from './hooks.js'

export interface PurgeParts {
  /** Which jobs are purged; undefined: all. */
  readonly only: PurgeOptions['only']
  /** Whether jobs whose lock has ended are purged. */
  readonly unlocked: boolean
  readonly backend: QueueBackend
  readonly find: (id: string) => Promise<QueueJob | undefined>
  /** Fails a waiting job, with the usual effect on its parent. */
  readonly fail: (id: string) => Promise<boolean>
  /** Removes the error of a job from those of the jobs above it; returns false if one of them is running. */
  readonly forgetError: (job: { readonly id?: string | undefined; readonly parentKey?: string | undefined }) => Promise<boolean>
  /** Removes jobs from the index of their declared fields. */
  readonly unindex: (jobs: readonly Job[]) => Promise<void>
  /** Notifies plugins of the purged jobs. */
  readonly after: (jobs: readonly PurgedJob[]) => Promise<void>
  /** Runs a command on the store. */
  readonly ask: <T>(command: () => Promise<T>) => Promise<T>
}

/** A job that is to be purged. */
interface WantedJob extends ForgottenJob {
  /** Of a deleted job that has failed. */
  readonly parentKey?: string | undefined
}

/** Limit on the looks at a job that is not running and cannot be removed. */
const mostLooks = 5

/** Removes jobs and all their traces. */
export async function purgeJobs(queue: Queue, ids: readonly string[], parts: PurgeParts): Promise<Purged> {
  const { ask, backend, only } = parts
  const wanted = new Map<string, readonly WantedJob[]>()
  for (const id of ids) wanted.set(id, await wantedJobs(queue, id, parts))
  // First, so that no deletion or restoration that is under way takes a job where it would not be found.
  const forgotten = await ask(() => backend.deletion.forget(queue.name, [...wanted.values()].flat()))
  const gone: Job[] = []
  for (const job of [...wanted.values()].flat()) if (job.parentKey !== undefined) await parts.forgetError(job)
  const running: string[] = []
  /** Ids that stand for another job. */
  const others = new Set(ids.filter((id) => wanted.get(id)?.length === 0))
  for (const id of ids) {
    // A job may change its state, or be deleted by someone else, between two looks.
    for (let looks = 1; ; looks++) {
      const found = await parts.find(id)
      if (found === undefined) break
      if (only !== undefined && !(await only(found.job))) {
        others.add(id)
        break
      }
      const isGone = await purgeJob(queue, id, found, parts)
      if (isGone) gone.push(found.job)
      else if (found.state !== 'active' && looks < mostLooks) continue
      else running.push(id)
      break
    }
  }
  // Includes jobs that no longer exist: their events may still be stored.
  const parents = new Map(gone.map((job) => [job.id, job.parentKey]))
  const traces = ids
    .filter((id) => !running.includes(id) && !others.has(id))
    .map((id) => ({ id, ...(parents.get(id) && { parentKey: parents.get(id) as string }) }))
  if (traces.length > 0) await ask(() => backend.removeTraces(queue, traces))
  // Again: one of them may have failed through it meanwhile.
  for (const job of gone) if (failedAbove(job)) await parts.forgetError(job)
  await parts.unindex(gone)
  // Several processes may have removed the same job, and only one counts it.
  const counted = await ask(() =>
    backend.deletion.claim(
      queue.name,
      gone.map(({ id = '', timestamp }) => ({ id, addedAt: timestamp })),
    ),
  )
  const attempts = new Map(gone.map((job) => [job.id, attemptsOf(job)]))
  await parts.after(traces.map(({ id }) => ({ id, attempts: attempts.get(id) })))
  return { removed: [...new Set([...counted, ...forgotten])], running }
}

/** The jobs with an id that are to be purged. If there is none at all, its traces are. */
async function wantedJobs(queue: Queue, id: string, { ask, backend, find, only }: PurgeParts): Promise<readonly WantedJob[]> {
  if (only === undefined) return [{ id }]
  // Twice, because a job may be deleted between the two reads.
  for (let looks = 0; looks < 2; looks++) {
    const deleted = await ask(() => backend.deletion.deletedJob(queue.name, id))
    const stored = (await find(id))?.job
    if (deleted === undefined && stored === undefined) continue
    const wanted: WantedJob[] = []
    if (deleted !== undefined && (await only(deleted)))
      wanted.push({ id, addedAt: deleted.timestamp, ...(deleted.error !== null && { parentKey: deleted.parentKey }) })
    if (stored !== undefined && (await only(stored))) wanted.push({ id, addedAt: stored.timestamp })
    return wanted
  }
  return [{ id }]
}

/** The id under which the end of a schedule is noted, beside those of jobs. */
export const scheduleMark = (id: string): string => `@${id}`

/** Ends a schedule for good: whoever has read it does not store it again. Returns false if there was none. */
export async function endSchedule(queue: Queue, id: string, { ask, backend }: Pick<PurgeParts, 'ask' | 'backend'>): Promise<boolean> {
  const existed = await ask(() => queue.removeJobScheduler(id))
  // Afterwards: a copy that has read it either sees this, or is stored before this.
  await ask(() => backend.deletion.forget(queue.name, [{ id: scheduleMark(id) }]))
  return existed
}

/** Whether the error of a job may be in those of the jobs above it. */
function failedAbove({ failedReason, parentKey, stacktrace }: Job): boolean {
  return parentKey !== undefined && Boolean(failedReason || stacktrace?.length)
}

/** Returns false if the job is running, or one that repeats its error. */
async function purgeJob(
  queue: Queue,
  id: string,
  { job, state }: QueueJob,
  { ask, backend, fail, forgetError, unlocked }: PurgeParts,
): Promise<boolean> {
  if (state === 'active' && !(unlocked && (await ask(() => backend.flows.release(queue.name, id))))) {
    // Otherwise, data about the same subject would be added when it ends.
    if (job.deduplicationId !== undefined) await ask(() => backend.dropNext(queue, job.deduplicationId ?? ''))
    return false
  }
  if (failedAbove(job) && !(await forgetError(job))) return false
  const waits = state !== 'completed' && state !== 'failed'
  if (waits && job.parentKey !== undefined && !(await fail(id))) return false
  const remove = () => ask(() => backend.flows.removeJob(queue.name, id, { ended: true, keepsBelow: true }))
  const { jobs, refused } = await remove()
  if (refused !== 'scheduled') return jobs !== undefined
  // Ends the schedule and removes its next job.
  await endSchedule(queue, job.repeatJobKey ?? '', { ask, backend })
  return (await ask(() => queue.getJob(id))) === undefined || (await remove()).jobs !== undefined
}
