import type { Queue } from 'bullmq'
import { type AttentionFact, type AttentionReport, countText, durationText, messageOf } from 'zin'
import type { ListedState, ListPage } from './contract.js'
import { isInternalQueue } from './job-check.js'
import type { StoredSchedule } from './late-schedules.js'

/** The kinds of facts, and when each is listed. */
export const scheduleKinds = {
  'schedule-overdue': 'a schedule was due 30 s ago and has not run',
  'schedule-failed': 'the last run of a schedule failed',
} as const

/** What is read of the queues. */
export interface ScheduledQueues {
  queue(name: string): Pick<Queue, 'getJobScheduler' | 'getJobSchedulers'>
  /** Names of the queues that have schedules. */
  scheduled(): Promise<readonly string[]>
  list(queue: string, state: ListedState, page: ListPage): Promise<readonly FailedRun[]>
  nextRun(pattern: string, tz: string, after: number): number | undefined
  /** Runs a command on the store. */
  change<T>(work: () => Promise<T>): Promise<T>
}

/** A failed job; `repeatJobKey` is the id of its schedule. */
export interface FailedRun {
  readonly id?: string | undefined
  readonly repeatJobKey?: string | undefined
  readonly finishedOn?: number | undefined
}

/** How late a run may be until it counts as overdue, in ms: a busy worker takes it a little later. */
export const overdueMs = 30_000
/** Queues with schedules that are checked, and how many at once. */
const mostQueues = 200
const atOnce = 10
/** Schedules of a queue that are read at a time, starting with the one that is due first, and in total. */
const pageSize = 20
const mostRead = 200
/** Newest failed jobs of a queue among which runs of schedules are looked for. */
const mostFailed = 50

/** Schedules that are overdue, or whose last run failed. */
export async function scheduleReport(queues: ScheduledQueues, now: () => number): Promise<AttentionReport> {
  const names = (await queues.scheduled()).filter((name) => !isInternalQueue(name))
  const facts: AttentionFact[] = []
  const unread: string[] = []
  for (let from = 0; from < Math.min(names.length, mostQueues); from += atOnce) {
    const some = names.slice(from, Math.min(from + atOnce, mostQueues))
    const found = await Promise.all(some.map((name) => factsOf(queues, name, now).catch((error: unknown) => messageOf(error))))
    for (const [i, one] of found.entries()) {
      if (typeof one === 'string') unread.push(`${some[i]}: ${one}`)
      else facts.push(...one)
    }
  }
  const missing = names.length - mostQueues
  const reason = `The schedules of ${countText(unread.length, 'queue')} could not be read: ${unread[0]}`
  return {
    facts,
    notChecked: [
      ...(unread.length > 0 ? ['schedule-overdue', 'schedule-failed'].map((kind) => ({ kind, reason })) : []),
      ...(missing > 0
        ? [{ kind: 'other-schedules', reason: `The schedules of ${missing} queues beyond the first ${mostQueues} are not checked` }]
        : []),
    ],
  }
}

async function factsOf(queues: ScheduledQueues, name: string, now: () => number): Promise<readonly AttentionFact[]> {
  const queue = queues.queue(name)
  const found: AttentionFact[] = []
  for (let from = 0; from < mostRead; from += pageSize) {
    const page = await queues.change(() => queue.getJobSchedulers(from, from + pageSize - 1, true))
    const overdue = page.filter((one) => isOverdue(one, now()))
    found.push(...overdue.map((one) => overdueFact(name, one, now())))
    // Those that are due first come first; ended ones stay among them.
    if (page.length < pageSize || (page.at(-1)?.next ?? 0) > now()) break
  }
  const failed = await queues.list(name, 'failed', { offset: 0, limit: mostFailed, payload: false })
  // Newest first.
  const last = new Map<string, FailedRun>()
  for (const run of failed) if (run.repeatJobKey !== undefined && !last.has(run.repeatJobKey)) last.set(run.repeatJobKey, run)
  for (const [key, run] of last) {
    const schedule = await queues.change(() => queue.getJobScheduler(key))
    if (schedule !== undefined && isLastRun(schedule, run, (...due) => queues.nextRun(...due))) found.push(failedFact(name, schedule, run))
  }
  return found
}

/** Whether its next run is late, unless it has ended. Pure. */
export function isOverdue({ endDate, iterationCount = 0, limit, next }: StoredSchedule, now: number): boolean {
  if (next === undefined || now - next < overdueMs) return false
  // BullMQ keeps the time of the last run.
  const ended = (limit !== undefined && iterationCount >= limit) || (endDate !== undefined && new Date(endDate).getTime() <= now)
  return !ended
}

/** Whether no run of the schedule was due between a failed one and the next one: runs that succeeded may not be kept. Pure. */
export function isLastRun(
  { every, next, pattern, tz = 'UTC' }: Pick<StoredSchedule, 'every' | 'next' | 'pattern' | 'tz'>,
  { id = '' }: FailedRun,
  nextRun: ScheduledQueues['nextRun'],
): boolean {
  const due = Number(/:(\d{12,14})$/.exec(id)?.[1])
  if (!Number.isFinite(due)) return false
  if (next === undefined) return true
  if (every !== undefined) return next < due + 2 * every
  const following = pattern === undefined ? undefined : nextRun(pattern, tz, due)
  return following === undefined || next <= following
}

function overdueFact(queue: string, schedule: StoredSchedule, now: number): AttentionFact {
  const { next = now } = schedule
  const cause = `${wordsOf(queue, schedule)} was due ${durationText(now - next)} ago, at ${new Date(next).toISOString()}, and has not run. Check that its worker runs and its queue is not paused`
  return { ...about(queue, schedule), kind: 'schedule-overdue', severity: 'bad', cause, since: next }
}

function failedFact(queue: string, schedule: StoredSchedule, { finishedOn, id = '' }: FailedRun): AttentionFact {
  const at = finishedOn === undefined ? '' : ` at ${new Date(finishedOn).toISOString()}`
  const cause = `The last run of ${wordsOf(queue, schedule, 'the')} failed${at}. Read its error and retry the job`
  return {
    ...about(queue, schedule),
    kind: 'schedule-failed',
    cause,
    ...(finishedOn === undefined ? {} : { since: finishedOn }),
    act: { label: 'Open the job', href: `/console/queues/${encodeURIComponent(queue)}/jobs/${encodeURIComponent(id)}` },
  }
}

function about(queue: string, { key }: StoredSchedule) {
  return { subject: `schedule:${queue}:${key}`, queue, act: { label: 'See the schedules', href: '/console/schedules' } }
}

/** Ids of schedules of workers are `<worker>~<id>`. */
function wordsOf(queue: string, { key }: StoredSchedule, article = 'The'): string {
  const [worker = '', id] = key.split('~')
  return id === undefined ? `${article} schedule "${key}" of the queue "${queue}"` : `${article} schedule "${id}" of the worker "${worker}"`
}
