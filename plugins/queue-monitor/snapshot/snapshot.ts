import type { QueueSample } from 'zin/plugins/queues'
import { type DurationBuckets, percentile, sumDurations } from 'zin/plugins/workers'
import type { ProcessingTimes, QueueEntry, QueueStats } from '../contract.js'

/** Attempts over a period. */
export interface Attempts {
  readonly completed: number
  readonly failed: number
  /** Sum of their run times, in ms. */
  readonly totalMs: number
  readonly durations: DurationBuckets
}

/** A sample of a queue. */
export interface SampledQueue extends Omit<QueueSample, 'oldestWaiting'> {
  /** When the oldest waiting job became ready, in ms since the Unix epoch; null if none is waiting. */
  readonly oldestWaiting: number | null
  /** Over the last hour. */
  readonly hour: Attempts
  /** Completed attempts per second. */
  readonly throughput: number
}

/** A sample of all queues. */
export interface Snapshot {
  /** In ms since the Unix epoch. */
  readonly at: number
  readonly queues: Readonly<Record<string, SampledQueue>>
}

export const noAttempts: Attempts = { completed: 0, failed: 0, totalMs: 0, durations: {} }

/** Sums attempts. */
export function sumAttempts(parts: readonly Attempts[]): Attempts {
  return {
    completed: sum(parts, ({ completed }) => completed),
    failed: sum(parts, ({ failed }) => failed),
    totalMs: sum(parts, ({ totalMs }) => totalMs),
    durations: sumDurations(parts.map(({ durations }) => durations)),
  }
}

/** Mean run time in ms; 0 without attempts. */
export function averageOf({ completed, failed, totalMs }: Attempts): number {
  return completed + failed === 0 ? 0 : rounded(totalMs / (completed + failed))
}

export function timesOf({ durations }: Attempts): ProcessingTimes | null {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((q) => percentile(durations, q))
  return p50 === undefined || p95 === undefined || p99 === undefined ? null : { p50: rounded(p50), p95: rounded(p95), p99: rounded(p99) }
}

export function entryOf(queue: SampledQueue, at: number): QueueEntry {
  const { broken, counts, hour, oldestWaiting, paused, throughput } = queue
  const attempts = hour.completed + hour.failed
  return {
    size: sizeOf(queue),
    active: counts.active,
    completed: counts.completed,
    failed: counts.failed,
    averageProcessingTime: averageOf(hour),
    waiting: counts.waiting,
    delayed: counts.delayed,
    waitingChildren: counts.waitingChildren,
    paused,
    oldestWaitingMs: oldestWaiting === null ? null : Math.max(0, at - oldestWaiting),
    kept: counts.completed + counts.failed,
    throughput: rounded(throughput),
    attempts,
    failureRate: attempts === 0 ? null : rounded(hour.failed / attempts),
    processingTime: timesOf(hour),
    ...(broken !== undefined && { broken: true, reason: broken }),
  }
}

/** Jobs that have not run yet. */
export function sizeOf({ counts }: SampledQueue): number {
  return counts.waiting + counts.delayed + counts.waitingChildren
}

/** Returns the statistics of the queues the caller can see. */
export function statsOf({ at, queues }: Snapshot, sees: (queue: string) => boolean): QueueStats {
  const seen = Object.entries(queues).filter(([name]) => sees(name))
  const entries = seen.map(([name, queue]) => [name, entryOf(queue, at)] as const)
  const all = entries.map(([, entry]) => entry)
  const hour = sumAttempts(seen.map(([, queue]) => queue.hour))
  const waits = all.flatMap(({ oldestWaitingMs }) => oldestWaitingMs ?? [])
  return {
    totalQueues: all.length,
    totalJobs: sum(all, ({ active, kept, size }) => active + kept + size),
    activeJobs: sum(all, ({ active }) => active),
    completedJobs: sum(all, ({ completed }) => completed),
    failedJobs: sum(all, ({ failed }) => failed),
    averageProcessingTime: averageOf(hour),
    throughput: rounded(sum(seen, ([, queue]) => queue.throughput)),
    queues: Object.fromEntries(entries),
    oldestWaitingMs: waits.length === 0 ? null : waits.reduce((most, ms) => Math.max(most, ms), 0),
    kept: sum(all, ({ kept }) => kept),
    processingTime: timesOf(hour),
    sampledAt: new Date(at).toISOString(),
  }
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0)
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
