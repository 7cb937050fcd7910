import type { ResourceSnapshot, ResourceUsage } from '../snapshot.js'

/** How values of each field are aggregated. */
const aggregates = {
  eventLoopUtilization: 'mean',
  eventLoopDelayP50Ms: 'mean',
  eventLoopDelayP99Ms: 'max',
  cpuCores: 'mean',
  cpuLimit: 'last',
  rss: 'max',
  heapUsed: 'max',
  heapLimit: 'last',
  external: 'max',
  gcMs: 'sum',
  memoryLimit: 'last',
  containerMemory: 'max',
  throttledMs: 'sum',
  storeMs: 'mean',
} as const satisfies Record<keyof ResourceUsage, 'mean' | 'max' | 'sum' | 'last'>

export const coarseMs = 300_000

/** Returns the start of the five-minute bucket of a time. */
export function bucketOf(at: number): number {
  return Math.floor(at / coarseMs) * coarseMs
}

/**
 * Aggregates five minutes of a node into one point: means weighted by the time that each snapshot covers, maxima of memory and of the delay
 * p99, and sums of times spent. A value that no snapshot has is null. Includes all alerts that were active at any time.
 */
export function aggregate(snapshots: readonly ResourceSnapshot[]): ResourceSnapshot | undefined {
  const last = snapshots.at(-1)
  if (last === undefined) return undefined
  const usage = Object.fromEntries(
    (Object.keys(aggregates) as (keyof ResourceUsage)[]).map((field) => {
      const known = snapshots.flatMap(({ [field]: value, spanMs }) =>
        value === null ? [] : [{ value, weight: Math.min(spanMs, coarseMs) }],
      )
      return [field, known.length === 0 ? null : combine(aggregates[field], known)]
    }),
  ) as unknown as ResourceUsage
  const alerts = new Map(snapshots.flatMap((one) => one.alerts.map((alert) => [`${alert.rule} ${alert.since}`, alert])))
  return {
    ...usage,
    node: last.node,
    at: bucketOf(last.at),
    spanMs: snapshots.reduce((sum, { spanMs }) => sum + spanMs, 0),
    alerts: [...alerts.values()],
  }
}

interface Weighted {
  readonly value: number
  readonly weight: number
}

function combine(how: (typeof aggregates)[keyof ResourceUsage], values: readonly Weighted[]): number {
  switch (how) {
    case 'max':
      return values.reduce((max, { value }) => Math.max(max, value), Number.NEGATIVE_INFINITY)
    case 'sum':
      return values.reduce((sum, { value }) => sum + value, 0)
    case 'last':
      return values.at(-1)?.value ?? 0
    case 'mean': {
      const weights = values.reduce((sum, { weight }) => sum + weight, 0)
      return weights === 0 ? 0 : values.reduce((sum, { value, weight }) => sum + value * weight, 0) / weights
    }
  }
}

/** The current five-minute bucket of a node. */
export class Bucket {
  #snapshots: ResourceSnapshot[] = []

  /** Adds a snapshot and returns the aggregated point of its bucket so far. */
  add(snapshot: ResourceSnapshot): ResourceSnapshot {
    const start = bucketOf(snapshot.at)
    this.#snapshots = [...this.#snapshots.filter(({ at }) => bucketOf(at) === start), snapshot]
    return aggregate(this.#snapshots) ?? snapshot
  }
}
