import type { Worker } from 'bullmq'
import type { QueueBackend } from './backend.js'
import { type Fetching, fetchedJobs } from './fetched-jobs.js'

/** The part of BullMQ that knows the running jobs of a worker. */
interface Locks {
  readonly trackedJobs: Map<string, { readonly token: string; ts: number }>
  trackJob(id: string, token: string, ts: number, signal?: boolean): unknown
  untrackJob(id: string): void
}

/** Share of a lock's time after which it counts as late: in time, it is renewed at three quarters at the latest. */
const lateShare = 0.9

/**
 * Lets a job whose code blocked its process for longer than its lock keep the lock, or end with its outcome, unless another process has taken
 * the job over. BullMQ would run it again, and block again. A job that was fetched so long ago, and held back since, begins only if no other
 * process has it.
 */
export function keepsLateLocks(worker: Worker, relock: QueueBackend['relock']): void {
  const backend = worker.getBackend()
  const locks = (worker as unknown as { readonly lockManager: Locks }).lockManager
  const { lockDuration = 30_000 } = worker.opts
  const fetched = fetchedJobs(worker)
  const started = new Map<string, number>()
  const ending = new Set<string>()
  const { trackJob, untrackJob } = locks
  locks.trackJob = (id, token, ts, signal) => {
    started.set(id, Math.min(ts, fetched.get(id) ?? ts))
    return trackJob.call(locks, id, token, ts, signal)
  }
  // BullMQ calls it before it stores the outcome, and again afterwards.
  locks.untrackJob = (id) => {
    if (ending.delete(id)) started.delete(id)
    else if (started.has(id)) ending.add(id)
    untrackJob.call(locks, id)
  }
  /** When locks were last renewed. A job that runs for long is among them each time, unless its process is blocked. */
  let renewedAt = 0
  const isLate = (since: number): boolean => Date.now() - Math.max(since, renewedAt) >= lateShare * lockDuration
  const take = (id: string, token: string, since: number): Promise<boolean> =>
    relock({ toKey: (key) => worker.toKey(key), queueName: worker.name, id }, { token, ms: lockDuration, since })
  /** Runs a command that ends an attempt, after the lock was taken if it is late. The work is done in any case, so the command is sent. */
  const ended = <T>(id = '', token = '', send: () => Promise<T>): Promise<T> => {
    const since = started.get(id)
    if (since === undefined || !isLate(since)) return send()
    return take(id, token, since).then(send, send)
  }

  const own = worker as unknown as Fetching
  const { processJob } = own
  // Without a promise of its own unless the job is late: this runs for each job.
  own.processJob = (job, token, fetchNext) => {
    const { id = '' } = job
    const since = fetched.get(id)
    const begin = () => processJob.call(worker, job, token, fetchNext)
    if (since === undefined || Date.now() - since < lateShare * lockDuration) return begin()
    const drop = () => void fetched.delete(id)
    // If nobody can tell, it stalls, and runs again.
    return take(id, token, since).then((isOurs) => (isOurs ? begin() : drop()), drop)
  }

  const { extendLocks, moveStalledJobsToWait, moveToCompleted, moveToDelayed, moveToFailed, retryJob } = backend
  backend.extendLocks = async (ids, tokens, ms) => {
    const lost: string[] = []
    for (const id of await extendLocks.call(backend, ids, tokens, ms)) {
      const since = started.get(id)
      const isTaken = since !== undefined && isLate(since) && (await take(id, tokens[ids.indexOf(id)] ?? '', since))
      if (!isTaken) lost.push(id)
    }
    renewedAt = Date.now()
    return lost
  }
  backend.moveStalledJobsToWait = async () => {
    for (const [id, { token }] of locks.trackedJobs) await ended(id, token, () => Promise.resolve())
    return moveStalledJobsToWait.call(backend)
  }
  backend.moveToCompleted = (job, result, keep, token, fetchNext) =>
    ended(job.id, token, () => moveToCompleted.call(backend, job, result, keep, token, fetchNext))
  backend.moveToFailed = (job, reason, keep, token, ...others) =>
    ended(job.id, token, () => moveToFailed.call(backend, job, reason, keep, token, ...others))
  backend.moveToDelayed = (id, now, delay, token, ...others) =>
    ended(id, token, () => moveToDelayed.call(backend, id, now, delay, token, ...others))
  backend.retryJob = (id, lifo, token, ...others) => ended(id, token, () => retryJob.call(backend, id, lifo, token, ...others))
}
