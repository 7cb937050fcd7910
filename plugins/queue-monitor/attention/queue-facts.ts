// Facts about queues, from the latest sample. Pure.
import { type AttentionFact, countText, durationText } from 'zin'
import type { QueueAlert } from '../alerts/alerts.js'
import type { HistoryPoint, JobDetails, QueueEntry } from '../contract.js'
import { oneLine } from './item.js'

/** How long a queue may be paused before a person is told, in ms. */
const pausedMs = 20_000
/** A job that waits for less than this is no problem, whatever the last day was like, in ms. */
const leastWaitMs = 120_000
/** Minutes of history without which nothing can be said about the last day. */
const leastMinutes = 30
const dayMs = 86_400_000
const hourMs = 3_600_000
const minuteMs = 60_000

const pageOf = (queue: string): string => `/console/queues/${encodeURIComponent(queue)}`
export const openQueue = (queue: string, state = '') => ({
  label: 'Open the queue',
  href: `${pageOf(queue)}${state === '' ? '' : `?state=${state}`}`,
})

/** A queue that cannot be read, or that is paused. */
export function queueFacts(queue: string, { broken, oldestWaitingMs, paused, reason = '', waiting }: QueueEntry): readonly AttentionFact[] {
  const fact = { subject: `queue:${queue}`, queue, act: openQueue(queue) }
  if (broken === true) {
    const cause = `The queue "${queue}" cannot be read, although its store responds; its jobs do not run: ${oneLine(reason, 300)}`
    return [{ ...fact, kind: 'queue-broken', severity: 'bad', cause }]
  }
  if (!paused) return []
  const oldest = oldestWaitingMs === null ? '' : `, the oldest for ${durationText(oldestWaitingMs)}`
  const wait = waiting === 0 ? 'no jobs wait' : `${countText(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'}${oldest}`
  const cause = `The queue "${queue}" is paused, so that none of its jobs run; ${wait}. Resume it when it may go on`
  return [{ ...fact, kind: 'queue-paused', cause, count: Math.max(1, waiting), afterMs: pausedMs }]
}

/** A queue whose oldest job waits for longer than any did in the last day; undefined: with less than half an hour of history, nobody knows. */
export function waitingFacts(
  queue: string,
  { oldestWaitingMs, paused, waiting }: QueueEntry,
  { hours, minutes }: { readonly hours: readonly HistoryPoint[]; readonly minutes: readonly HistoryPoint[] },
  now: number,
): readonly AttentionFact[] | undefined {
  const waited = oldestWaitingMs ?? 0
  if (paused || waited < leastWaitMs) return []
  // Without the time since this backlog began, which would be compared with itself.
  const began = now - waited
  const before = (points: readonly HistoryPoint[], spanMs: number) =>
    points.filter(({ at }) => Date.parse(at) + spanMs <= began && Date.parse(at) >= now - dayMs)
  const [oldHours, oldMinutes] = [before(hours, hourMs), before(minutes, minuteMs)]
  if (oldHours.length === 0 && oldMinutes.length < leastMinutes) return undefined
  const earlier = [...oldHours, ...oldMinutes]
  const most = earlier.reduce((longest, point) => Math.max(longest, point.oldestWaitingMs ?? 0), 0)
  if (waited <= most) return []
  const cause = `${countText(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'} in the queue "${queue}", the oldest for ${durationText(waited)}: longer than ever in the last day (${durationText(most)}). Check its workers, or add some`
  const since = now - waited
  return [
    {
      kind: 'waiting-too-long',
      subject: `queue:${queue}`,
      queue,
      cause,
      count: Math.max(1, waiting),
      since,
      act: openQueue(queue, 'waiting'),
    },
  ]
}

/** An alert of the queue monitor. */
export function alertFact({ at, queue, reason, rule }: QueueAlert): AttentionFact {
  const state = rule === 'failure-rate' ? '' : rule === 'processing-time' ? 'active' : 'waiting'
  const cause = `Alert ${rule} of the queue "${queue}": ${reason}`
  return { kind: 'queue-alert', key: rule, subject: `queue:${queue}`, queue, cause, since: Date.parse(at), act: openQueue(queue, state) }
}

/** A job that fails repeatedly: `bad` if other jobs of its queue wait and none completes. */
export function retriedFact({ attempts, createdAt, id, maxAttempts, name, queue }: JobDetails, entry?: QueueEntry): AttentionFact {
  const others = Math.max(0, (entry?.waiting ?? 0) - 1)
  const held = others > 0 && (entry?.throughput ?? 0) === 0
  const oldest = entry?.oldestWaitingMs ?? null
  const waits = `, while ${countText(others, 'job')} ${others === 1 ? 'waits' : 'wait'}${oldest === null ? '' : `, the oldest for ${durationText(oldest)}`}`
  return {
    kind: 'job-retried',
    subject: `job:${queue}:${id}`,
    queue,
    severity: held ? 'bad' : 'warn',
    cause: `job ${id} (${oneLine(name, 100)}) has failed ${attempts.toLocaleString('en-US')} of ${maxAttempts.toLocaleString('en-US')} attempts and is being retried${held ? waits : ''}`,
    since: Date.parse(createdAt),
    count: Math.max(1, attempts),
    act: { label: 'Open the job', href: `${pageOf(queue)}/jobs/${encodeURIComponent(id)}` },
  }
}
