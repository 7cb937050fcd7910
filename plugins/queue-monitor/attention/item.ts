import { createHash } from 'node:crypto'
import type { AttentionFact } from 'zin'
import type { Actor } from 'zin/plugins/ops'

/** What needs attention, as the API, the command and webhooks show it. */
export interface AttentionItem {
  /** The same as long as the cause lasts, and again if it comes back. */
  readonly id: string
  readonly kind: string
  /** `<type>:<id>`: `worker:emails`. */
  readonly subject: string
  readonly severity: 'bad' | 'warn'
  /** Since when, ISO 8601. */
  readonly since: string
  /** How many jobs, deliveries or the like it is about. */
  readonly count: number
  /** The highest count in each of the last 24 hours, oldest first; 0: it did not need attention. */
  readonly bar: readonly number[]
  /** What is wrong, as a sentence with its numbers. */
  readonly cause: string
  /** What to do next: a page of the console. */
  readonly act: { readonly label: string; readonly href: string }
  /** The queue that it concerns. */
  readonly queue?: string
  /** Set while somebody has acknowledged it. */
  readonly acknowledged?: Acknowledgement
}

export interface Acknowledgement {
  readonly note: string
  readonly by: Actor
  /** ISO 8601. */
  readonly at: string
}

/** A kind of items that could not be checked, or is not shown to the caller. */
export interface NotChecked {
  readonly kind: string
  readonly reason: string
}

/** The kinds that were not checked, by reason: while a store is gone, many have the same. */
export function byReason(notChecked: readonly NotChecked[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const { kind, reason } of notChecked) found.set(reason, [...(found.get(reason) ?? []), kind])
  return found
}

/** The list of what needs attention. */
export interface AttentionList {
  /** Failures first, then by age. */
  readonly items: readonly AttentionItem[]
  readonly notChecked: readonly NotChecked[]
  /** When it was checked, ISO 8601. */
  readonly at: string
}

/** A fact with the plugin that reported it. */
export interface OwnedFact extends AttentionFact {
  readonly plugin: string
}

/** A fact over time. Times are ms since 1970. */
export interface Tracked extends Omit<OwnedFact, 'afterMs' | 'count' | 'severity' | 'since'> {
  readonly id: string
  readonly severity: 'bad' | 'warn'
  readonly count: number
  readonly since: number
  /** When this episode was first seen. */
  readonly firstAt: number
  /** Whether it has lasted long enough. */
  readonly raised: boolean
  /** Set when its cause has gone; kept for the bar of a later episode. */
  readonly endedAt?: number
  /** The highest count by hour since 1970, oldest first. */
  readonly hours: readonly (readonly [hour: number, count: number])[]
}

const hourMs = 3_600_000
export const barHours = 24
const mostCause = 500

export function idOf({ kind, key = '', plugin, subject }: Pick<OwnedFact, 'kind' | 'key' | 'plugin' | 'subject'>): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([plugin, kind, subject, key]))
    .digest('hex')
  return `at_${digest.slice(0, 20)}`
}

export function hourOf(ms: number): number {
  return Math.floor(ms / hourMs)
}

export function itemOf(one: Tracked, now: number, acknowledged: Acknowledgement | undefined): AttentionItem {
  const { act, cause, count, hours, id, kind, queue, severity, since, subject } = one
  const byHour = new Map(hours)
  return {
    id,
    kind,
    subject,
    severity,
    since: new Date(since).toISOString(),
    count,
    bar: Array.from({ length: barHours }, (_, i) => byHour.get(hourOf(now) - barHours + 1 + i) ?? 0),
    cause: oneLine(cause),
    act,
    ...(queue === undefined ? {} : { queue }),
    ...(acknowledged === undefined ? {} : { acknowledged }),
  }
}

/** Failures first, then the oldest first, then by subject. */
export function inOrder(a: Tracked, b: Tracked): number {
  return (
    Number(a.severity === 'warn') - Number(b.severity === 'warn') ||
    a.since - b.since ||
    a.subject.localeCompare(b.subject, 'en', { numeric: true })
  )
}

/** Removes line breaks and control characters, and cuts the text. */
export function oneLine(text: string, most = mostCause): string {
  const line = text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}
