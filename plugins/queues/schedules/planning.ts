import type { Job, JobSchedulerJson, JobsOptions, Queue, RepeatOptions, RepeatStrategy } from 'bullmq'
import type { Clock } from 'zin'
import { type Ask, repeatable } from '../ask.js'
import type { QueueJob } from '../cancel.js'
import { queueErrors } from '../errors.js'
import type { NextRun } from './next-run.js'
import {
  canonical,
  hasTiming,
  machineZone,
  plansItself,
  policyKey,
  policyOf,
  readSchedule,
  repeatOf,
  type Schedule,
  type ScheduleTiming,
  timingFault,
  timingOfJob,
  type WantedTiming,
  wantedTiming,
} from './timing.js'

export interface PlanningParts {
  readonly clock: Clock
  readonly nextRun: NextRun
  readonly queue: (name: string) => Queue
  readonly find: (queue: string, id: string) => Promise<QueueJob | undefined>
  /** Removes a schedule, and its next run unless that has begun. */
  readonly remove: (queue: string, id: string) => Promise<boolean>
  /** The original of stored data. */
  readonly restored: (queue: string, data: unknown) => Promise<unknown>
  readonly ask: Ask
}

/** The template of a schedule in stored form. */
export interface PlannedTemplate {
  readonly name: string
  readonly data: unknown
  readonly opts: JobsOptions
}

/** The id of the job that a schedule adds for a time. */
export function occurrenceId(schedule: string, at: number): string {
  return `repeat:${schedule}:${at}`
}

/** Whether a run has begun. One that only waited for another has not. */
function hasBegun({ attemptsMade, stalledCounter }: Pick<Job, 'attemptsMade' | 'stalledCounter'>): boolean {
  return attemptsMade > 0 || stalledCounter > 0
}

/** Maximum number of times that are examined for one without a run. */
const mostTaken = 1_000

/** Times of a schedule, in ms since 1970. */
interface Times {
  /** The first one; undefined if there is none. */
  readonly from: number | undefined
  /** That of the run that is planned and replaced. */
  readonly next: number | undefined
  readonly isStored: boolean
}

/** Stores schedules, and chooses when their runs are due. */
export class Planning {
  readonly #parts: PlanningParts
  readonly #chosen = new WeakMap<object, number | undefined>()

  constructor(parts: PlanningParts) {
    this.#parts = parts
  }

  /** The strategy of BullMQ's queues and workers: the time that was chosen for these options, else the next one by the rules. */
  readonly strategy: RepeatStrategy = (now, options) => {
    if (this.#chosen.has(options)) return this.#chosen.get(options)
    if (options.immediately) return now
    return options.pattern === undefined ? undefined : this.firstAfter(options, now)
  }

  /** Makes BullMQ plan the next run of these options for a time, or none. */
  choose(options: object, at: number | undefined): void {
    this.#chosen.set(options, at)
  }

  /** The first run of a pattern after `now`, neither before the start nor after the end. */
  firstAfter({ endDate, pattern = '', startDate, tz }: RepeatOptions, now: number): number | undefined {
    const start = startDate === undefined ? now : new Date(startDate).getTime()
    const next = this.#parts.nextRun(pattern, tz ?? machineZone(), start > now ? start - 1 : now)
    return next === undefined || (endDate !== undefined && next > new Date(endDate).getTime()) ? undefined : next
  }

  check(queue: string, timing: ScheduleTiming): void {
    const now = this.#parts.clock.now()
    const fault = timingFault(timing, (pattern, tz) => this.#parts.nextRun(pattern, tz, now))
    if (fault !== undefined) throw queueErrors.QUEUE_INVALID_SCHEDULE(queue, fault)
  }

  /** Stores a schedule; changes nothing when it is stored already. Returns the job that runs next; undefined when the schedule has ended. */
  async put(name: string, id: string, timing: ScheduleTiming, template: PlannedTemplate): Promise<Job | undefined> {
    const { ask, clock, queue } = this.#parts
    const wanted = wantedTiming(timing)
    const { isSame, planned, stored, waits } = await this.#stored(name, id, wanted, template)
    if (isSame) return waits ? planned?.job : undefined
    const begun = planned !== undefined && (planned.state === 'active' || !waits || hasBegun(planned.job))
    const follows = begun ? planned.job.id : policyOf(planned?.job.opts).follows
    const { data, opts } = template
    const policy = { overlap: wanted.overlap, catchUp: wanted.catchUp, ...(follows !== undefined && { follows }) }
    const options = { ...opts, [policyKey]: policy } as JobsOptions
    const keeps = waits && stored !== undefined && readSchedule(stored).every === wanted.every && stored.every === undefined
    const first = keeps ? (stored.next ?? 0) : Math.max(wanted.startDate ?? 0, clock.now())
    const repeat = repeatOf(wanted, first)
    if (repeat.pattern !== undefined) {
      const from = plansItself(wanted) ? first : this.firstAfter(repeat, clock.now())
      const next = waits && !begun ? stored?.next : undefined
      this.choose(repeat, await this.#untaken(name, id, repeat, { from, next, isStored: stored !== undefined }))
    }
    // The last run waits for a retry: BullMQ would remove it as the next one.
    if (waits && begun && planned.state !== 'active') await this.#parts.remove(name, id)
    const added = await ask(() => queue(name).upsertJobScheduler(id, repeat, { name: template.name, data, opts: options }), repeatable)
    // Typed as always defined, but undefined when the last date is past.
    return added as Job | undefined
  }

  /**
   * The first time that has no run yet: one that was promoted has begun early, under the time for which it was planned. A run that still runs
   * after its schedule was removed makes BullMQ refuse the schedule.
   */
  async #untaken(name: string, id: string, repeat: RepeatOptions, { from, isStored, next }: Times): Promise<number | undefined> {
    let at = from
    for (let looks = 0; at !== undefined && at !== next && looks < mostTaken; looks++) {
      const run = await this.#parts.find(name, occurrenceId(id, at))
      if (run === undefined || (run.state === 'active' && !isStored)) return at
      at = this.firstAfter(repeat, Math.max(at, this.#parts.clock.now()))
    }
    return at
  }

  /** Whether `put` would change nothing. */
  async isStored(name: string, id: string, timing: ScheduleTiming, template: PlannedTemplate): Promise<boolean> {
    return (await this.#stored(name, id, wantedTiming(timing), template)).isSame
  }

  /** What is stored of a schedule, and whether it is the same and goes on, or has ended, as it says. */
  async #stored(name: string, id: string, wanted: WantedTiming, template: PlannedTemplate) {
    const { ask, find, queue } = this.#parts
    const stored = (await ask(() => queue(name).getJobScheduler(id))) ?? undefined
    const planned = stored?.next === undefined ? undefined : await find(name, occurrenceId(id, stored.next))
    const waits = planned !== undefined && planned.state !== 'completed' && planned.state !== 'failed'
    const equal = stored !== undefined && (await this.#equals(name, readSchedule(stored), wanted, template))
    return { isSame: equal && (waits || this.#hasEnded(stored, planned?.job)), planned, stored, waits }
  }

  async #equals(queue: string, stored: Schedule, wanted: WantedTiming, { data, name, opts }: PlannedTemplate): Promise<boolean> {
    if (stored.name !== name || !hasTiming(stored, wanted)) return false
    const defaults = this.#parts.queue(queue).defaultJobOptions
    if (canonical(stored.template?.opts ?? {}) !== canonical({ ...defaults, ...opts })) return false
    try {
      const [before, after] = await Promise.all([stored.template?.data, data].map((one) => this.#parts.restored(queue, one ?? {})))
      return canonical(before ?? {}) === canonical(after ?? {})
    } catch {
      // Data that can no longer be read is replaced.
      return false
    }
  }

  /** Whether a schedule whose last job has ended adds no more. */
  #hasEnded(stored: JobSchedulerJson, last: Job | undefined): boolean {
    const { endDate, every, iterationCount = 0, limit, next = 0, pattern, tz } = stored
    if (limit !== undefined && (timingOfJob(last?.opts)?.count ?? iterationCount) >= limit) return true
    if (every !== undefined) return endDate !== undefined && next + every > endDate
    return this.firstAfter({ pattern, tz, endDate } as RepeatOptions, next) === undefined
  }
}
