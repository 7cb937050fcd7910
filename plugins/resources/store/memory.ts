import type { ResourceSnapshot } from '../snapshot.js'
import { type Resolution, type ResourceStore, retentionMs } from './contract.js'

/** Most points of a resolution: a day of five seconds each. */
const most = 17_280

/** The history of this process, lost when it ends. */
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
