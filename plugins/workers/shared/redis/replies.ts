import { type AttemptCounts, mostChanges, type News, type NodeStatus, type StoredStatus } from '../contract.js'
import type { DurationBuckets } from '../durations.js'
import { countsOf, type MinuteTally, type Tally } from '../tally.js'

export type NewsReply = readonly [revision: number, reported: number, changes: readonly string[]]
export type StatusesReply = readonly (readonly [node: string, statuses: readonly string[]])[]
export type TotalsReply = readonly (readonly (string | null)[])[]
/** Per worker: `minute:version`, counts, … */
export type MinutesReply = readonly (readonly string[])[]

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
      return typeof counts[0] === 'string' ? [[worker, countsOf(tallyOf(counts))] as const] : []
    }),
  )
}

export function minutesOf(workers: readonly string[], reply: MinutesReply): readonly MinuteTally[] {
  return workers.flatMap((worker, index) =>
    pairs(reply[index] ?? []).map(([field, value]) => {
      const colon = field.indexOf(':')
      const [counts = '', durations = ''] = value.split(';')
      return {
        worker,
        minute: Number(field.slice(0, colon)) * 60_000,
        version: field.slice(colon + 1),
        tally: tallyOf(counts.split(' ')),
        durations: durationsOf(durations),
      }
    }),
  )
}

/** `bucket:attempts bucket:attempts …` */
export function durationsText(durations: DurationBuckets): string {
  return Object.entries(durations)
    .map(([bucket, attempts]) => `${bucket}:${attempts}`)
    .join(' ')
}

function durationsOf(text: string): DurationBuckets {
  return text === '' ? {} : Object.fromEntries(text.split(' ').map((pair) => pair.split(':').map(Number)))
}

function tallyOf(counts: readonly (string | null)[]): Tally {
  const [completed = 0, failed = 0, lost = 0, totalUs = 0, timedOut = 0, cancelled = 0] = counts.map(Number)
  return { completed, failed, lost, timedOut, cancelled, totalUs }
}

function pairs(list: readonly string[]): readonly (readonly [string, string])[] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index] ?? '', list[2 * index + 1] ?? ''] as const)
}
