import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Job, JobSchedulerJson, JobsOptions, Queue, Worker } from 'bullmq'
import { type Clock, type Logger, messageOf } from 'zin'
import type { Ask } from '../ask.js'
import type { QueueJob } from '../cancel.js'
import type { NextRun } from './next-run.js'
import type { Scheduler } from './occurrences.js'
import { occurrenceId } from './planning.js'
import { catchUpMs, machineZone, policyOf, timingOfJob } from './timing.js'

export interface MissedParts {
  readonly clock: Clock
  readonly log: Logger
  readonly nextRun: NextRun
  readonly queue: (name: string) => Queue
  readonly find: (queue: string, id: string) => Promise<QueueJob | undefined>
  /** Those of these queues that have schedules. */
  readonly scheduled: (queues: readonly string[]) => Promise<readonly string[]>
  /** Whether a worker of this process takes the jobs of a queue already. */
  readonly isServedHere: (queue: string) => boolean
  /** How long the last lock of a running job of a queue still holds, in ms; undefined if none does. */
  readonly lockLeft: (queue: string) => Promise<number | undefined>
  readonly ask: Ask
}

/** How many schedules are read at a time. */
const page = 100
/** How long a check waits at most until it is known whether a process that holds locks still lives, and how often it looks, in ms. */
const lives = { most: 35_000, look: 500 } as const

/**
 * Leaves out the runs that were missed while nothing was running, as far as `catchUp` says so: before a worker takes its first job. A run that
 * was due is delayed still if no worker was there to take it, so the worker that starts first decides, and a second one finds it decided.
 */
export class MissedRuns {
  readonly #parts: MissedParts
  /** The queues that are asked about next, and the answer. */
  #next: { readonly queues: Set<string>; readonly scheduled: Promise<readonly string[]> } | undefined

  constructor(parts: MissedParts) {
    this.#parts = parts
  }

  /** Makes a worker check the schedules of its queue before it takes its first job. `onTaking` is called afterwards. */
  checkBefore(worker: Worker, onTaking: () => void): Worker {
    const taking = worker as unknown as { moveToActive(...args: readonly unknown[]): Promise<unknown> }
    const take = taking.moveToActive
    let checked: Promise<void> | undefined
    taking.moveToActive = async (...args) => {
      checked ??= this.#check(worker)
      await checked
      onTaking()
      taking.moveToActive = take
      return take.apply(worker, args as unknown[])
    }
    return worker
  }

  /** Asks the store once for all workers that start in the same turn of the event loop. */
  async #hasSchedules(name: string): Promise<boolean> {
    this.#next ??= {
      queues: new Set(),
      scheduled: setImmediate().then(() => {
        const queues = [...(this.#next?.queues ?? [])]
        this.#next = undefined
        return this.#parts.scheduled(queues)
      }),
    }
    this.#next.queues.add(name)
    return (await this.#next.scheduled).includes(name)
  }

  async #check(worker: Worker): Promise<void> {
    const { ask, clock, isServedHere, log, queue } = this.#parts
    const { name } = worker
    try {
      if (isServedHere(name) || !(await this.#hasSchedules(name))) return
      const now = clock.now()
      const until = clock.monotonic() + lives.most
      for (let from = 0; ; ) {
        const stored = await ask(() => queue(name).getJobSchedulers(from, from + page - 1, true))
        const due = stored.filter(({ next }) => next !== undefined && next <= now)
        // Those that are left out are no longer at this position.
        for (const schedule of due) if (!(await this.#leaveOut(worker, schedule, until))) from++
        if (due.length < page) return
      }
    } catch (error) {
      log.warn({ err: error, queue: name }, `the missed runs of queue "${name}" could not be checked: ${messageOf(error)}`)
    }
  }

  /**
   * Whether a process worked on the queue when a run was due: it took a job, or renewed a lock, afterwards. A lock that is older can be that of
   * a process that has ended, or that renews it soon: this waits until it is known. Counts as served if it is not known in time.
   *
   * @param until by the monotonic clock.
   */
  async #isServed(worker: Worker, due: number, until: number): Promise<boolean> {
    const { clock, lockLeft } = this.#parts
    const { lockDuration = 30_000 } = worker.opts
    while (true) {
      const left = await lockLeft(worker.name)
      if (left === undefined) return false
      if (clock.now() + left - lockDuration > due) return true
      if (worker.closing !== undefined || clock.monotonic() > until) return true
      await setTimeout(Math.min(left + 1, lives.look))
    }
  }

  /** Returns whether the next run was left out. */
  async #leaveOut(worker: Worker, schedule: JobSchedulerJson, until: number): Promise<boolean> {
    const { ask, clock, find, log, nextRun, queue } = this.#parts
    const { name } = worker
    const { key, next: due = 0 } = schedule
    if (firstKept(schedule, clock.now(), nextRun) === due || (await this.#isServed(worker, due, until))) return false
    const now = clock.now()
    const kept = firstKept(schedule, now, nextRun)
    const planned = await find(name, occurrenceId(key, due))
    // It waits for the run before it.
    if (planned?.state !== 'delayed' || planned.job.attemptsStarted > 0) return false
    const end = schedule.endDate ?? Number.POSITIVE_INFINITY
    if (kept === undefined || kept > end) await ask(() => queue(name).removeJobScheduler(key))
    else await ask(() => replan(queue(name), schedule, planned.job, kept))
    const [from, to] = [due, kept ?? now].map((time) => new Date(time).toISOString())
    const { catchUp } = policyOf(schedule.template?.opts)
    log.warn(
      { queue: name, schedule: key, due: from, next: to, catchUp },
      `schedule "${key}" of queue "${name}" missed its run of ${from} while nothing was running; by catchUp "${catchUp}" it goes on at ${to}`,
    )
    return true
  }
}

/** The first missed run that is made up, or the first run from now on; undefined when there is none. Returns `next` if nothing is left out. */
export function firstKept(
  { every, next: due = 0, pattern, template, tz }: JobSchedulerJson,
  now: number,
  nextRun: NextRun,
): number | undefined {
  const { catchUp } = policyOf(template?.opts)
  const oldest = now - catchUpMs
  // BullMQ goes on from now.
  if (pattern === undefined || every !== undefined) return due
  const zone = tz ?? machineZone()
  if (catchUp === 'none') return nextRun(pattern, zone, now)
  if (due >= oldest) return due
  const first = nextRun(pattern, zone, oldest - 1)
  if (catchUp === 'all' || first === undefined || first > now) return first
  // One stands for all.
  return due
}

/** Replaces the next run of a schedule, also by one in the past. Makes no difference when it is repeated. */
async function replan(queue: Queue, schedule: JobSchedulerJson, planned: Job, next: number): Promise<void> {
  const scheduler = (await queue.jobScheduler) as unknown as Scheduler
  const { endDate, key, limit, name, pattern, startDate, template, tz } = schedule
  const { count = 1, ...repeat } = timingOfJob(planned.opts) ?? {}
  const opts = planned.opts as JobsOptions
  const nextOpts = scheduler.getNextJobOpts(next, key, { ...opts, repeat }, count, null)
  const data = JSON.stringify(template?.data ?? {})
  const timing = { name, startDate, endDate, tz, pattern, limit, offset: null }
  await scheduler.backend.addJobScheduler(key, next, data, template?.opts ?? {}, timing, nextOpts, undefined)
}
