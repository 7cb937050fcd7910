import { type AttentionFact, type AttentionReport, countText, durationText, messageOf } from 'zin'
import { isInternalQueue } from './job-check.js'
import type { ScheduleBackend } from './schedules/contract.js'

/** The kinds of facts, and when each is listed. */
export const scheduleKinds = {
  'schedule-overdue': 'a schedule was due 30 s ago and has not run',
  'schedule-failed': 'the last run of a schedule failed',
} as const

/** What is read of the queues. */
export interface ScheduledQueues {
  /** Names of the queues that have schedules. */
  scheduled(): Promise<readonly string[]>
  faults: ScheduleBackend['faults']
}

/** How late a run may be until it counts as overdue, in ms: a busy worker takes it a little later. */
export const overdueMs = 30_000
/** Queues with schedules that are checked, and how many at once. */
const mostQueues = 200
const atOnce = 10
/** Schedules of a queue that are checked at a time, in one command, and in total; those that are due first come first, ended ones among them. */
const pageSize = 500
const mostSchedules = 5_000
/** Facts of one kind about a queue. */
const mostFacts = 200

/** Schedules that are overdue, or whose last run failed. */
export async function scheduleReport(queues: ScheduledQueues, now: () => number): Promise<AttentionReport> {
  const names = (await queues.scheduled()).filter((name) => !isInternalQueue(name))
  const facts: AttentionFact[] = []
  const unread: string[] = []
  const cut: string[] = []
  for (let from = 0; from < Math.min(names.length, mostQueues); from += atOnce) {
    const some = names.slice(from, Math.min(from + atOnce, mostQueues))
    const found = await Promise.all(some.map((name) => factsOf(queues, name, now()).catch((error: unknown) => messageOf(error))))
    for (const [i, one] of found.entries()) {
      if (typeof one === 'string') unread.push(`${some[i]}: ${one}`)
      else {
        facts.push(...one.facts)
        if (one.isCut) cut.push(some[i] ?? '')
      }
    }
  }
  const missing = names.length - mostQueues
  const reasons = [
    ...(unread.length > 0 ? [`The schedules of ${countText(unread.length, 'queue')} could not be read: ${unread[0]}`] : []),
    ...(cut.length > 0
      ? [
          `Of each queue, the first ${mostSchedules} schedules are checked, and ${mostFacts} faults of a kind are listed; ${countText(cut.length, 'queue')} ${cut.length === 1 ? 'has' : 'have'} more: ${cut[0]}`,
        ]
      : []),
  ]
  return {
    facts,
    notChecked: [
      ...(reasons.length > 0 ? ['schedule-overdue', 'schedule-failed'].map((kind) => ({ kind, reason: reasons.join('. ') })) : []),
      ...(missing > 0
        ? [{ kind: 'other-schedules', reason: `The schedules of ${missing} queues beyond the first ${mostQueues} are not checked` }]
        : []),
    ],
  }
}

interface QueueFacts {
  readonly facts: readonly AttentionFact[]
  /** Whether there may be more. */
  readonly isCut: boolean
}

async function factsOf(queues: ScheduledQueues, name: string, now: number): Promise<QueueFacts> {
  const overdue: AttentionFact[] = []
  const failed: AttentionFact[] = []
  let total = 0
  for (let from = 0; from === 0 || from < Math.min(total, mostSchedules); from += pageSize) {
    const page = await queues.faults(name, { from, limit: pageSize, overdue: now - overdueMs, now })
    overdue.push(...page.overdue.map((one) => overdueFact(name, one, now)))
    failed.push(...page.failed.map((one) => failedFact(name, one)))
    total = page.total
  }
  const isCut = total > mostSchedules || overdue.length > mostFacts || failed.length > mostFacts
  return { facts: [...overdue.slice(0, mostFacts), ...failed.slice(0, mostFacts)], isCut }
}

function overdueFact(queue: string, { key, next }: { readonly key: string; readonly next: number }, now: number): AttentionFact {
  const cause = `${wordsOf(queue, key)} was due ${durationText(now - next)} ago, at ${new Date(next).toISOString()}, and has not run. Check that its worker runs and its queue is not paused`
  return { ...about(queue, key), kind: 'schedule-overdue', severity: 'bad', cause, since: next }
}

function failedFact(queue: string, { at, id, key }: { readonly key: string; readonly id: string; readonly at: number }): AttentionFact {
  const cause = `The last run of ${wordsOf(queue, key, 'the')} failed at ${new Date(at).toISOString()}. Read its error and retry the job`
  return {
    ...about(queue, key),
    kind: 'schedule-failed',
    cause,
    since: at,
    act: { label: 'Open the job', href: `/console/queues/${encodeURIComponent(queue)}/jobs/${encodeURIComponent(id)}` },
  }
}

function about(queue: string, key: string) {
  const isOfWorker = key.includes('~')
  const act = isOfWorker
    ? { label: 'See the schedules', href: '/console/schedules' }
    : { label: 'See its next run', href: `/console/queues/${encodeURIComponent(queue)}?state=delayed` }
  return { subject: `schedule:${queue}:${key}`, queue, act }
}

/** Ids of schedules of workers are `<worker>~<id>`. */
function wordsOf(queue: string, key: string, article = 'The'): string {
  const [worker = '', id] = key.split('~')
  return id === undefined ? `${article} schedule "${key}" of the queue "${queue}"` : `${article} schedule "${id}" of the worker "${worker}"`
}
