import type { AttemptCounts, Beat, KnownNode, MinuteCounts, NodeInfo, NodeStatus, ReportedStatus } from '../cluster.js'
import { countsOf } from '../tally.js'

/** Of the scripts `beat` and `listNodes`: revision, now, leases (id, end, …) and infos (id, JSON, …). */
export type BeatReply = readonly [revision: number, now: number, leases: readonly string[], infos: readonly string[]]
export type StatusesReply = readonly (readonly [node: string, alive: number, statuses: readonly string[]])[]
export type TotalsReply = readonly (readonly (string | null)[])[]
export type MinutesReply = readonly [now: number, ...hours: (readonly string[])[]]

export function beatOf([revision, now, leases, infos]: BeatReply): Beat {
  const known = new Map(pairs(infos))
  const nodes = pairs(leases).flatMap(([id, end]): KnownNode[] => {
    const info = known.get(id)
    if (info === undefined) return []
    const leaseUntil = Number(end)
    return [{ ...(JSON.parse(info) as NodeInfo), alive: leaseUntil > now, leaseUntil, leaseMs: Math.max(0, leaseUntil - now) }]
  })
  return { revision, nodes }
}

export function statusesOf(reply: StatusesReply): readonly ReportedStatus[] {
  return reply.flatMap(([node, alive, statuses]) =>
    statuses.map((text) => ({ ...(JSON.parse(text) as NodeStatus), node, alive: alive === 1 })),
  )
}

export function totalsOf(workers: readonly string[], reply: TotalsReply): ReadonlyMap<string, AttemptCounts> {
  return new Map(
    workers.flatMap((worker, index) => {
      const counts = reply[index] ?? []
      return typeof counts[0] === 'string' ? [[worker, attempts(counts)] as const] : []
    }),
  )
}

export function minutesOf([, ...hours]: MinutesReply, from: number): readonly MinuteCounts[] {
  return hours
    .flatMap(pairs)
    .map(([field, counts]) => {
      const colon = field.indexOf(':')
      return { minute: Number(field.slice(0, colon)) * 60_000, version: field.slice(colon + 1), ...attempts(counts.split(' ')) }
    })
    .filter(({ minute }) => minute >= from)
    .sort((a, b) => a.minute - b.minute)
}

function attempts(counts: readonly (string | null)[]): AttemptCounts {
  const [completed = 0, failed = 0, lost = 0, totalUs = 0] = counts.map(Number)
  return countsOf({ completed, failed, lost, totalUs })
}

function pairs(list: readonly string[]): readonly (readonly [string, string])[] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index] ?? '', list[2 * index + 1] ?? ''] as const)
}
