import type { Job, JobsOptions, RepeatOptions, Worker } from 'bullmq'
import type { Clock, Logger } from 'zin'
import type { QueueBackend } from '../backend.js'
import type { NextRun } from './next-run.js'
import type { Planning } from './planning.js'
import { catchUpMs, machineZone, policyKey, policyOf, timingOfJob } from './timing.js'

export interface OccurrencesParts {
  readonly clock: Clock
  readonly log: Logger
  readonly nextRun: NextRun
  readonly planning: Planning
  readonly backend: () => QueueBackend['schedules']
  readonly find: (queue: string, id: string) => Promise<Job | undefined>
}

/** The parts of BullMQ's worker that take a job and plan the next one of its schedule. */
interface TakingWorker {
  nextJobFromJobData(data: unknown, id: string, token: string): Promise<Job | undefined>
  createJob(data: unknown, id: string): Job
  readonly jobScheduler: Promise<Scheduler>
  drained: boolean
}

export interface Scheduler {
  readonly backend: {
    addJobScheduler(...args: readonly unknown[]): Promise<unknown>
    updateJobSchedulerNextMillis(id: string, next: number, data: string, options: unknown, producer: string): Promise<unknown>
  }
  upsertJobScheduler(
    id: string,
    repeat: RepeatOptions,
    name: string,
    data: unknown,
    options: JobsOptions,
    how: { readonly override: boolean; readonly producerId?: string },
  ): Promise<unknown>
  getNextJobOpts(next: number, id: string, options: object, count: number, offset: number | null): object
}

/** `since`: from when on it waits for the run before, in ms since 1970. */
type Decision =
  | { readonly kind: 'run' }
  | { readonly kind: 'wait'; readonly since: number }
  | { readonly kind: 'skip'; readonly why: string }

const run: Decision = { kind: 'run' }

/** How long a run waits before it looks again whether the previous one has ended: a quarter of the time that it waits already, in ms. */
const looks = { least: 500, most: 10_000, part: 0.25 }

/**
 * Plans the runs of schedules when a worker takes one: the next one by the rules of `NextRun` and `catchUp`, and whether this one runs by
 * `overlap` and by its deduplication. Jobs of no schedule cost nothing.
 */
export class Occurrences {
  readonly #parts: OccurrencesParts
  /** The options of the runs that are being skipped. */
  readonly #skipping = new WeakSet<object>()

  constructor(parts: OccurrencesParts) {
    this.#parts = parts
  }

  watch(made: Worker): Worker {
    const worker = made as unknown as TakingWorker
    const take = worker.nextJobFromJobData.bind(made)
    let watched: Promise<void> | undefined
    const takeRun = async (data: unknown, id: string, token: string): Promise<Job | undefined> => {
      watched ??= worker.jobScheduler.then((scheduler) => this.#watchScheduler(scheduler))
      await watched
      const job = worker.createJob(data, id)
      try {
        const decision = await this.#decide(made.name, job)
        if (decision.kind === 'run') return failPoison(await take(data, id, token), made.opts.maxStalledCount)
        worker.drained = false
        if (decision.kind === 'wait') await this.#wait(job, token, decision.since)
        else await this.#skip(worker, made.name, job, token, decision.why)
      } catch (error) {
        // As in BullMQ: the job stalls and is taken again.
        made.emit('error', error as Error)
      }
      return undefined
    }
    worker.nextJobFromJobData = (data, id, token) =>
      (data as { readonly repeatJobKey?: string } | null | undefined)?.repeatJobKey === undefined
        ? take(data, id, token)
        : takeRun(data, id, token)
    return made
  }

  #watchScheduler(scheduler: Scheduler): void {
    const upsert = scheduler.upsertJobScheduler.bind(scheduler)
    scheduler.upsertJobScheduler = async (id, repeat, name, data, options, how) => {
      if (how.override || how.producerId === undefined || repeat === undefined) return upsert(id, repeat, name, data, options, how)
      return this.#advance(scheduler, upsert, { id, repeat, name, data, options, producerId: how.producerId })
    }
  }

  /** Adds the next run. It must not overlap this one, or, when this one is skipped, the one before. */
  async #advance(scheduler: Scheduler, upsert: Scheduler['upsertJobScheduler'], taken: Taken): Promise<unknown> {
    const { clock, planning } = this.#parts
    const { data, id, name, options, producerId, repeat } = taken
    const now = clock.now()
    const next = this.#nextOf(taken, now)
    if (next === undefined || (repeat.endDate !== undefined && next > new Date(repeat.endDate).getTime())) return undefined
    const policy = policyOf(options)
    const follows = this.#skipping.has(options) ? policy.follows : producerId
    const opts = policyKey in options ? { ...options, [policyKey]: { ...policy, follows } } : options
    if (repeat.pattern === undefined || next >= now) {
      planning.choose(repeat, next)
      return upsert(id, repeat, name, data, opts, { override: false, producerId })
    }
    // BullMQ plans nothing in the past.
    const count = (repeat.count ?? 0) + 1
    if (repeat.limit !== undefined && count > repeat.limit) return undefined
    const planned = scheduler.getNextJobOpts(next, id, { ...opts, repeat }, count, null)
    return scheduler.backend.updateJobSchedulerNextMillis(id, next, JSON.stringify(data ?? {}), planned, producerId)
  }

  #nextOf({ id, options, producerId, repeat }: Taken, now: number): number | undefined {
    const due = dueOf(id, producerId) ?? options.prevMillis ?? now
    const { every, offset = 0, pattern, tz } = repeat
    const missed = policyOf(options).catchUp === 'all' ? now - catchUpMs - 1 : now
    if (pattern !== undefined) return this.#parts.nextRun(pattern, tz ?? machineZone(), Math.max(due, missed))
    if (every === undefined) return undefined
    // As BullMQ computes it in the store; needed for the end only.
    const next = due + every
    return next >= now ? next : (Math.floor(now / every) + 1) * every + (offset ?? 0)
  }

  async #decide(queue: string, job: Job): Promise<Decision> {
    // A retry.
    if (job.attemptsMade > 0) return run
    const overlapping = await this.#overlap(queue, job)
    if (overlapping.kind !== 'run') return overlapping
    const { deduplication } = job.opts
    if (deduplication?.id === undefined) return run
    const holder = await this.#parts.backend().holdDeduplication(queue, job.id ?? '', deduplication)
    if (holder === undefined || hasStalled(job)) return run
    return { kind: 'skip', why: `the job ${holder} has the same deduplication id` }
  }

  async #overlap(queue: string, job: Job): Promise<Decision> {
    const { catchUp, follows, overlap } = policyOf(job.opts)
    if (overlap === 'allow' || follows === undefined || follows === job.id) return run
    const before = await this.#parts.find(queue, follows)
    if (before === undefined) return run
    const { finishedOn, processedOn = 0 } = before
    const due = dueOf(job.repeatJobKey ?? '', job.id) ?? 0
    // Both are made up: the run before was not running when this one was due.
    const late = catchUp === 'all' && processedOn > due
    if (overlap === 'queue' || late || hasStalled(job))
      return finishedOn === undefined ? { kind: 'wait', since: Math.max(due, processedOn) } : run
    return finishedOn !== undefined && finishedOn <= due ? run : { kind: 'skip', why: `the run before it (${follows}) had not ended` }
  }

  async #wait(job: Job, token: string, since: number): Promise<void> {
    const now = this.#parts.clock.now()
    await job.moveToDelayed(now + Math.ceil(Math.min(looks.most, Math.max(looks.least, (now - since) * looks.part))), token)
  }

  async #skip(worker: TakingWorker, queue: string, job: Job, token: string, why: string): Promise<void> {
    const { backend, log } = this.#parts
    const { id = '', name, data, opts, repeatJobKey: schedule = '' } = job
    const scheduler = await worker.jobScheduler
    this.#skipping.add(opts)
    await scheduler.upsertJobScheduler(schedule, timingOfJob(opts) ?? {}, name, data, opts, { override: false, producerId: id })
    if (!(await backend().drop(queue, id, token))) return
    const due = new Date(dueOf(schedule, id) ?? 0).toISOString()
    log.info({ queue, schedule, due }, `schedule "${schedule}" of queue "${queue}" skipped its run of ${due}: ${why}`)
  }
}

/** Whether a run has lost its worker, when it ran or only waited for its turn. It is not left out, and waits for the one before if need be. */
function hasStalled({ stalledCounter }: Job): boolean {
  return stalledCounter > 0
}

/** The error of a job that has stalled too often, in BullMQ's words. */
const stalledTooOften = 'job stalled more than allowable limit'

/**
 * Makes a run that has stalled too often fail like any other job. BullMQ lets it run for ever, so that it plans the next run, which is planned by
 * now.
 */
function failPoison(run: Job | undefined, most = 1): Job | undefined {
  if (run !== undefined && run.stalledCounter > most) run.deferredFailure ??= stalledTooOften
  return run
}

interface Taken {
  readonly id: string
  readonly repeat: RepeatOptions
  readonly name: string
  readonly data: unknown
  readonly options: JobsOptions & { readonly prevMillis?: number }
  readonly producerId: string
}

/** When an occurrence is due, from its id; undefined for an id of another form. */
export function dueOf(schedule: string, id: string | undefined): number | undefined {
  const prefix = `repeat:${schedule}:`
  const due = id?.startsWith(prefix) ? Number(id.slice(prefix.length)) : Number.NaN
  return Number.isSafeInteger(due) ? due : undefined
}
