import { type DurationBuckets, sumDurations } from 'zin/plugins/workers'
import type { HistoryPoint, HistoryTier } from '../contract.js'
import { type Attempts, averageOf, timesOf } from '../snapshot/snapshot.js'

/** A stored point; `at` is its start in ms since the Unix epoch. */
export interface StoredPoint extends Attempts {
  readonly at: number
  readonly size: number
  readonly active: number
  readonly oldestWaitingMs: number | null
}

/** The points of a queue, oldest first. */
export type Tiers = Readonly<Record<HistoryTier, readonly StoredPoint[]>>

export const noTiers: Tiers = { minute: [], hour: [], day: [] }

export const spans: Readonly<Record<HistoryTier, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/** Limit on points per tier: 2 h, 7 days, 90 days. */
export const mostPoints: Readonly<Record<HistoryTier, number>> = { minute: 120, hour: 168, day: 90 }

/** Adds a minute. If it exists, its attempts are replaced and its levels become the maximum of both. */
export function withMinute(minutes: readonly StoredPoint[], point: StoredPoint): readonly StoredPoint[] {
  const known = minutes.find(({ at }) => at === point.at)
  const merged = known === undefined ? point : { ...point, ...highest([known, point]) }
  const others = minutes.filter(({ at }) => at !== point.at)
  return [...others, merged].sort((a, b) => a.at - b.at).slice(-mostPoints.minute)
}

/** Adds missing spans of the coarser tier that ended before `now`. */
export function rollUp(
  fine: readonly StoredPoint[],
  coarse: readonly StoredPoint[],
  tier: 'hour' | 'day',
  now: number,
): readonly StoredPoint[] {
  const span = spans[tier]
  const last = coarse.at(-1)?.at ?? Number.NEGATIVE_INFINITY
  const current = Math.floor(now / span) * span
  const starts = [...new Set(fine.map(({ at }) => Math.floor(at / span) * span))].filter((start) => start > last && start < current)
  if (starts.length === 0) return coarse
  return [...coarse, ...starts.map((start) => merge(start, within(fine, start, span)))].slice(-mostPoints[tier])
}

/** Returns the points of a tier, including the current, incomplete span. */
export function pointsOf(tiers: Tiers, tier: HistoryTier, retentionMs: number, now: number): readonly HistoryPoint[] {
  const start = Math.floor(now / spans[tier]) * spans[tier]
  const hours = tier === 'day' ? withCurrent(tiers.hour, tiers.minute, 'hour', now) : tiers.hour
  const points = tier === 'minute' ? tiers.minute : withCurrent(tiers[tier], tier === 'day' ? hours : tiers.minute, tier, now)
  return points.filter(({ at }) => at > start - Math.max(retentionMs, spans[tier])).map(shown)
}

function withCurrent(
  coarse: readonly StoredPoint[],
  fine: readonly StoredPoint[],
  tier: 'hour' | 'day',
  now: number,
): readonly StoredPoint[] {
  const all = rollUp(fine, coarse, tier, now)
  const start = Math.floor(now / spans[tier]) * spans[tier]
  const open = within(fine, start, spans[tier])
  return open.length === 0 ? all : [...all, merge(start, open)]
}

function within(points: readonly StoredPoint[], start: number, span: number): readonly StoredPoint[] {
  return points.filter(({ at }) => at >= start && at < start + span)
}

function merge(at: number, points: readonly StoredPoint[]): StoredPoint {
  const total = (of: (point: StoredPoint) => number): number => points.reduce((sum, point) => sum + of(point), 0)
  const durations: DurationBuckets = sumDurations(points.map((point) => point.durations))
  return {
    at,
    completed: total(({ completed }) => completed),
    failed: total(({ failed }) => failed),
    totalMs: total(({ totalMs }) => totalMs),
    durations,
    ...highest(points),
  }
}

function highest(points: readonly StoredPoint[]): Pick<StoredPoint, 'size' | 'active' | 'oldestWaitingMs'> {
  const waits = points.flatMap(({ oldestWaitingMs }) => oldestWaitingMs ?? [])
  return {
    size: Math.max(0, ...points.map(({ size }) => size)),
    active: Math.max(0, ...points.map(({ active }) => active)),
    oldestWaitingMs: waits.length === 0 ? null : Math.max(...waits),
  }
}

function shown(point: StoredPoint): HistoryPoint {
  const { active, at, completed, failed, oldestWaitingMs, size } = point
  return {
    at: new Date(at).toISOString(),
    size,
    active,
    oldestWaitingMs,
    completed,
    failed,
    averageProcessingTime: averageOf(point),
    processingTime: timesOf(point),
  }
}
