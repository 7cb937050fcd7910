import { setImmediate } from 'node:timers/promises'
import type { ResourceTrend } from '../contract.js'
import type { ResourceSnapshot, ResourceUsage } from '../snapshot.js'
import { aboutTime, forecast } from './forecast.js'
import type { Point } from './theil-sen.js'

type Limit = (snapshot: ResourceSnapshot) => number | undefined

/** Metrics with trends, and their upper limits. */
const metrics: readonly (readonly [metric: keyof ResourceUsage, limit: Limit])[] = [
  ['eventLoopUtilization', () => undefined],
  ['cpuCores', () => undefined],
  ['rss', ({ memoryLimit }) => memoryLimit],
  ['heapUsed', ({ heapLimit }) => heapLimit],
  ['containerMemory', ({ memoryLimit }) => memoryLimit],
]

const hourMs = 3_600_000
/** Minimum requirements of a direction; anything less is `steady`. */
const leastAgreement = 0.3
const leastPoints = 5
const leastSpanMs = 5 * 60_000

/** Computes the trends of each node. Yields to the event loop between nodes, because each takes a few ms. */
export async function trendsOf(newestFirst: readonly ResourceSnapshot[]): Promise<readonly ResourceTrend[]> {
  const byNode = new Map<string, ResourceSnapshot[]>()
  for (const snapshot of newestFirst) {
    const known = byNode.get(snapshot.node)
    if (known === undefined) byNode.set(snapshot.node, [snapshot])
    else known.push(snapshot)
  }
  const trends: ResourceTrend[] = []
  for (const snapshots of byNode.values()) {
    trends.push(...trendsOfNode(snapshots.reverse()))
    await setImmediate()
  }
  return trends
}

function trendsOfNode(snapshots: readonly ResourceSnapshot[]): readonly ResourceTrend[] {
  const last = snapshots.at(-1)
  if (last === undefined) return []
  return metrics.flatMap(([metric, limitOf]) => {
    const points = snapshots.flatMap(({ at, [metric]: value }) => (value === null ? [] : [{ at, value }]))
    const limit = limitOf(last)
    const trend = forecast(points, limit)
    if (trend === undefined) return []
    const { agreement, level, limitInMs, slope } = trend
    const isSteady = Math.abs(agreement) < leastAgreement || slope === 0 || !isLong(points)
    return [
      {
        node: last.node,
        metric,
        level,
        perHour: slope * hourMs,
        direction: isSteady ? 'steady' : slope > 0 ? 'up' : 'down',
        ...(limit === undefined ? {} : { limit }),
        ...(limitInMs === undefined ? {} : { limitInMs, forecast: limitInMs === 0 ? 'limit reached' : `limit in ${aboutTime(limitInMs)}` }),
      } satisfies ResourceTrend,
    ]
  })
}

function isLong(points: readonly Point[]): boolean {
  const [first, last] = [points[0], points.at(-1)]
  return points.length >= leastPoints && first !== undefined && last !== undefined && last.at - first.at >= leastSpanMs
}
