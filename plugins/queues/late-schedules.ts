import type { Queue } from 'bullmq'
import { type Clock, type Logger, messageOf } from 'zin'
import type { Queues } from './contract.js'
import type { NextRun } from './schedules/next-run.js'
import { occurrenceId } from './schedules/planning.js'

/** A recurring job, as BullMQ returns it. */
export type StoredSchedule = Awaited<ReturnType<Queue['getJobSchedulers']>>[number]

export interface LateSchedulesParts extends Pick<Queues, 'copy' | 'purgeSchedule'> {
  readonly clock: Clock
  readonly log: Logger
  readonly queue: (name: string) => Pick<Queue, 'getJob' | 'getJobScheduler' | 'getJobSchedulers' | 'upsertJobScheduler'>
  /** Names of the queues that have schedules. */
  readonly scheduled: () => Promise<readonly string[]>
  readonly takesTurn: (task: string, ms: number) => Promise<boolean>
  /** The time by the clock of the store, in ms since 1970. */
  readonly storeTime: () => Promise<number>
  readonly nextRun: NextRun
  readonly isClosing: () => boolean
  /** Runs a command on the store. */
  readonly ask: <T>(command: () => Promise<T>) => Promise<T>
}

/** A change of the wall clock by more than this is a step. */
const stepMs = 2_000
/**
 * How often one process checks all schedules without a step, by the monotonic clock: another one may have planned them with a wrong clock.
 */
const checkMs = 600_000
/** How many schedules are read at a time, those first that are due last, and how many of a queue are checked. */
const [pageSize, mostSchedules] = [200, 10_000]

/**
 * Plans schedules again that wait for a time which only a wrong clock could choose. Their next run is a time of day, so when the clock goes
 * back, they would run nothing until it gets there again. A plan is wrong only by this clock and by that of the store: otherwise, a process
 * whose own clock is wrong would change the plans of all.
 */
export class LateSchedules {
  readonly #parts: LateSchedulesParts
  #ahead: number
  #checkAt = 0

  constructor(parts: LateSchedulesParts) {
    this.#parts = parts
    this.#ahead = aheadOf(parts.clock)
  }

  /** Call it every second. */
  async tick(): Promise<void> {
    const { clock, log, takesTurn } = this.#parts
    const ahead = aheadOf(clock)
    const step = ahead - this.#ahead
    this.#ahead = ahead
    const stepped = Math.abs(step) > stepMs
    if (!stepped && clock.monotonic() < this.#checkAt) return
    this.#checkAt = clock.monotonic() + checkMs
    if (stepped) {
      const direction = step < 0 ? 'back' : 'forward'
      log.warn(
        { stepMs: Math.round(step) },
        `the clock went ${direction} by ${Math.round(Math.abs(step) / 1000)} s; checking the schedules`,
      )
    } else if (!(await takesTurn('schedules', checkMs))) return
    await this.#check()
  }

  async #check(): Promise<void> {
    const { ask, clock, isClosing, log, queue, scheduled, storeTime } = this.#parts
    const names = await scheduled()
    if (names.length === 0) return
    const ahead = Math.max(0, (await storeTime()) - clock.now())
    for (const name of names) {
      if (isClosing()) return
      try {
        for (let [from, checked] = [0, 0]; checked < mostSchedules && !isClosing(); ) {
          const stored = await ask(() => queue(name).getJobSchedulers(from, from + pageSize - 1))
          // Those that are planned again are no longer at this position.
          for (const schedule of stored) if (!(await this.#mend(name, schedule, ahead))) from++
          checked += stored.length
          if (stored.length < pageSize || (stored.at(-1)?.next ?? 0) <= clock.now()) break
        }
      } catch (error) {
        log.warn({ err: error, queue: name }, `the schedules of queue "${name}" could not be checked: ${messageOf(error)}`)
      }
    }
  }

  /**
   * Returns whether the schedule was planned again.
   *
   * @param ahead how far the clock of the store is ahead of this one, in ms; at least 0.
   */
  async #mend(name: string, schedule: StoredSchedule, ahead: number): Promise<boolean> {
    const { ask, clock, copy, log, nextRun, purgeSchedule, queue } = this.#parts
    const now = clock.now() + ahead
    if (!isLate(schedule, now, nextRun)) return false
    const { key, next = 0 } = schedule
    // A right clock planned it, after runs that were started early: their times are not due again.
    const planned = await ask(() => queue(name).getJob(occurrenceId(key, next)))
    if (planned !== undefined && planned.timestamp <= now) return false
    const undo = () => purgeSchedule(name, key)
    if ((await copy({ queue: name, schedule: key }, () => this.#planAgain(name, schedule), undo)) !== true) return false
    log.warn(
      { queue: name, schedule: key, planned: new Date(next).toISOString() },
      `schedule "${key}" of queue "${name}" was planned by a wrong clock for ${new Date(next).toISOString()}; it is planned again`,
    )
    return true
  }

  /** Returns false if the schedule no longer exists. */
  async #planAgain(name: string, schedule: StoredSchedule): Promise<boolean> {
    const { ask, queue } = this.#parts
    const { endDate, every, iterationCount = 1, key, limit, name: jobName, pattern, startDate, template, tz } = schedule
    if (!(await ask(() => queue(name).getJobScheduler(key)))) return false
    const { data, opts } = template ?? {}
    const rest = { startDate, endDate, tz, limit, ...(limit === undefined ? {} : { count: iterationCount - 1 }) }
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
    const plan = (timing: { readonly every: number } | { readonly pattern: string }) =>
      ask(() => queue(name).upsertJobScheduler(key, { ...given, ...timing }, { name: jobName, data, ...(opts && { opts }) }))
    if (pattern !== undefined) await plan({ pattern })
    else if (every !== undefined) {
      // BullMQ counts from the planned run unless the interval changes.
      await plan({ every: every + 1 })
      await plan({ every })
    }
    return true
  }
}

/** How far the wall clock is ahead of the monotonic one. */
function aheadOf(clock: Clock): number {
  return clock.now() - clock.monotonic()
}

/**
 * Whether the next run is more than two periods away, although the schedule is due earlier. A schedule with a longer period than the clock
 * went back keeps its plan, because its run of that period has taken place.
 */
export function isLate(
  { every, next, pattern, startDate, tz = 'UTC' }: Pick<StoredSchedule, 'every' | 'next' | 'pattern' | 'startDate' | 'tz'>,
  now: number,
  nextRun: LateSchedulesParts['nextRun'],
): boolean {
  if (next === undefined || next <= now || (startDate !== undefined && new Date(startDate).getTime() > now)) return false
  if (every !== undefined) return next - now > 2 * every
  const due = pattern === undefined ? undefined : nextRun(pattern, tz, now)
  const following = due === undefined || pattern === undefined ? undefined : nextRun(pattern, tz, due)
  if (due === undefined || following === undefined) return false
  return next > due && next - now > 2 * (following - due)
}
