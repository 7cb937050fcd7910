import type { ResourceSnapshot } from '../snapshot.js'
import { type Resolution, type ResourceStore, retentionMs } from './contract.js'

/** Maximum number of points per resolution: one day at five-second intervals. */
const most = 17_280

/** Stores the history of this process in memory; it is lost when the process ends. */
export function memoryStore(): ResourceStore {
  const points: Record<Resolution, ResourceSnapshot[]> = { fine: [], coarse: [] }
  return {
    add: async (snapshot, coarse) => {
      points.fine.push(snapshot)
      const last = points.coarse.at(-1)
      if (last?.at === coarse.at && last.node === coarse.node) points.coarse.pop()
      points.coarse.push(coarse)
      for (const list of [points.fine, points.coarse]) if (list.length > most) list.shift()
    },
    read: async ({ limit, node, resolution, since }) =>
      points[resolution]
        .filter((point) => point.at >= since && (node === undefined || point.node === node))
        .sort((a, b) => b.at - a.at)
        .slice(0, limit),
    prune: async (now) => {
      for (const resolution of ['fine', 'coarse'] as const) {
        points[resolution] = points[resolution].filter(({ at }) => at >= now - retentionMs[resolution])
      }
    },
  }
}
