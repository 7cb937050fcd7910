import { type AttemptCounts, type MinuteCounts, mostChanges, type News, type NodeStatus, type StoredStatus } from '../contract.js'
import { countsOf } from '../tally.js'

export type NewsReply = readonly [revision: number, reported: number, changes: readonly string[]]
export type StatusesReply = readonly (readonly [node: string, statuses: readonly string[]])[]
export type TotalsReply = readonly (readonly (string | null)[])[]
export type MinutesReply = readonly [now: number, ...hours: (readonly string[])[]]

export function newsOf([revision, reported, changes]: NewsReply, since: number): News {
  const listed = pairs(changes).map(([worker, changed]) => [worker, Number(changed)] as const)
  const known = since >= 0 && since <= revision && listed.length < mostChanges
  return { revision, changed: known ? new Map(listed) : 'all', reported: reported === 1 }
}

export function statusesOf(reply: StatusesReply): readonly StoredStatus[] {
  return reply.flatMap(([node, statuses]) => statuses.map((text) => ({ ...(JSON.parse(text) as NodeStatus), node })))
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
