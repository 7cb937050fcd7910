import type { AttemptCounts, AttemptDelta, CountsQuery, WorkerCounts } from './contract.js'
import { type DurationBuckets, sumDurations } from './durations.js'

/** Counts of attempts in the form in which stores keep them: integers, so that sums are exact. */
export interface Tally {
  readonly completed: number
  readonly failed: number
  readonly lost: number
  readonly timedOut: number
  readonly cancelled: number
  /** µs. */
  readonly totalUs: number
}

export const noTally: Tally = { completed: 0, failed: 0, lost: 0, timedOut: 0, cancelled: 0, totalUs: 0 }

export function tallyOf({ completed, failed, lost, timedOut, cancelled, totalMs }: AttemptCounts): Tally {
  return { completed, failed, lost, timedOut, cancelled, totalUs: Math.round(totalMs * 1000) }
}

export function countsOf({ totalUs, ...counts }: Tally): AttemptCounts {
  return { ...counts, totalMs: totalUs / 1000 }
}

export function sum(a: Tally, b: Tally): Tally {
  return {
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
    lost: a.lost + b.lost,
    timedOut: a.timedOut + b.timedOut,
    cancelled: a.cancelled + b.cancelled,
    totalUs: a.totalUs + b.totalUs,
  }
}

/** Returns the sums per key, sorted by key, so that all writers lock rows in the same order. */
export function tallies(
  deltas: readonly AttemptDelta[],
  keyOf: (delta: AttemptDelta) => string,
): readonly (readonly [key: string, tally: Tally, durations: DurationBuckets])[] {
  const found = new Map<string, readonly [string, Tally, DurationBuckets]>()
  for (const delta of deltas) {
    const key = keyOf(delta)
    const [, tally, durations] = found.get(key) ?? [key, noTally, {}]
    found.set(key, [key, sum(tally, tallyOf(delta)), sumDurations([durations, delta.durations])])
  }
  return [...found.values()].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Counts of one version in one minute, or a part of them. */
export interface MinuteTally {
  readonly worker: string
  readonly version: string
  /** Start of the minute, ms since 1970. */
  readonly minute: number
  readonly tally: Tally
  readonly durations: DurationBuckets
}

interface Group {
  readonly worker: string
  readonly version?: string
  readonly minute?: number
  tally: Tally
  readonly durations: DurationBuckets[]
}

/** Groups and sums minutes as a query requests, in the given order of workers, then by minute, then by version. */
export function countsBy(
  workers: readonly string[],
  { byVersion = false, byMinute = false }: CountsQuery,
  minutes: Iterable<MinuteTally>,
): readonly WorkerCounts[] {
  const groups = new Map<string, Group>()
  for (const { worker, version, minute, tally, durations } of minutes) {
    const by = { ...(byVersion && { version }), ...(byMinute && { minute }) }
    const key = [worker, by.minute, by.version].join('\n')
    const group = groups.get(key) ?? { worker, ...by, tally: noTally, durations: [] }
    groups.set(key, group)
    group.tally = sum(group.tally, tally)
    group.durations.push(durations)
  }
  const order = new Map(workers.map((worker, index) => [worker, index]))
  const place = ({ worker }: Group): number => order.get(worker) ?? 0
  return [...groups.values()]
    .sort((a, b) => place(a) - place(b) || (a.minute ?? 0) - (b.minute ?? 0) || ((a.version ?? '') < (b.version ?? '') ? -1 : 1))
    .map(({ tally, durations, ...by }) => ({ ...by, ...countsOf(tally), durations: sumDurations(durations) }))
}
