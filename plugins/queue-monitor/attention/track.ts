// Follows facts over time: since when they last, which have been raised, and which have cleared. Pure.
import { barHours, hourOf, idOf, type NotChecked, type OwnedFact, oneLine, type Tracked } from './item.js'

/** What one check found. */
export interface Found {
  readonly facts: readonly OwnedFact[]
  /** Without `plugin`: it is said, and no fact depends on it. */
  readonly notChecked: readonly (NotChecked & { readonly plugin?: string })[]
  /** Plugins of which nothing could be checked. */
  readonly failed: ReadonlySet<string>
}

export interface Step {
  readonly after: readonly Tracked[]
  readonly raised: readonly Tracked[]
  readonly cleared: readonly Tracked[]
}

/** Facts of one kind that are listed one by one; the others are summed up in one. */
export const mostOfKind = 100
/** The subject of the one that sums up those which are not listed. */
export const others = 'app:others'
/** All facts that are listed, and ended ones that are remembered for their bar. */
const mostListed = 500
const mostEnded = 200

/**
 * What could not be checked stays as it was: neither raised nor cleared.
 *
 * @param at ms since 1970.
 */
export function track(before: readonly Tracked[], found: Found, at: number): Step {
  const known = new Map(before.map((one) => [one.id, one]))
  const unchecked = new Set(found.notChecked.map(({ kind, plugin }) => `${plugin} ${kind}`))
  const isUnchecked = ({ kind, plugin }: Tracked): boolean => found.failed.has(plugin) || unchecked.has(`${plugin} ${kind}`)
  const seen = new Map<string, Tracked>()
  for (const fact of limited(found.facts)) {
    const id = idOf(fact)
    if (!seen.has(id)) seen.set(id, next(id, fact, known.get(id), at))
  }
  const raised = [...seen.values()].filter((one) => one.raised && !isRaised(known.get(one.id)))
  const gone = before.filter(({ endedAt, id }) => endedAt === undefined && !seen.has(id))
  const kept = gone.filter(isUnchecked)
  const ended = gone.filter((one) => !isUnchecked(one))
  const past = [
    ...before.filter(({ endedAt, id }) => endedAt !== undefined && !seen.has(id)),
    ...ended.map((one) => ({ ...one, endedAt: at })),
  ]
    .filter(({ hours, raised: wasRaised }) => wasRaised && hours.some(([hour]) => hour > hourOf(at) - barHours))
    .slice(-mostEnded)
  return { after: [...seen.values(), ...kept, ...past], raised, cleared: ended.filter(isRaised) }
}

export function isRaised(one: Tracked | undefined): one is Tracked {
  return one?.raised === true && one.endedAt === undefined
}

function next(id: string, fact: OwnedFact, before: Tracked | undefined, at: number): Tracked {
  const { afterMs = 0, cause, count = 1, severity = 'warn', since: given, ...rest } = fact
  const last = before?.endedAt === undefined ? before : undefined
  // It does not begin again while it lasts: the fact may come from a process that has been restarted, or be about a later run or job.
  const since = Math.min(given ?? last?.since ?? at, last?.since ?? Number.POSITIVE_INFINITY)
  const raised = last?.raised === true || Math.abs(at - since) >= afterMs
  const hour = hourOf(at)
  const earlier = (before?.hours ?? []).filter(([one]) => one > hour - barHours && one !== hour)
  const most = Math.max(count, before?.hours.find(([one]) => one === hour)?.[1] ?? 0)
  const hours = raised ? [...earlier, [hour, most] as const] : earlier
  return { ...rest, id, cause: oneLine(cause), count, severity, since, firstAt: last?.firstAt ?? at, raised, hours }
}

/** Bounds the facts of each kind, and all of them. */
function limited(facts: readonly OwnedFact[]): readonly OwnedFact[] {
  const byKind = new Map<string, OwnedFact[]>()
  for (const fact of facts) byKind.set(fact.kind, [...(byKind.get(fact.kind) ?? []), fact])
  const most = facts.length <= mostListed ? mostOfKind : Math.min(mostOfKind, Math.floor(mostListed / byKind.size) - 1)
  return [...byKind.values()].flatMap((all) => {
    const [first] = all
    if (first === undefined || all.length <= most) return all
    const more = all.length - most
    const { act, kind, plugin } = first
    const sum = { plugin, kind, subject: others, count: more, act, severity: first.severity ?? ('warn' as const) }
    return [...all.slice(0, most), { ...sum, cause: `${more.toLocaleString('en-US')} more of the kind ${kind} are not listed one by one` }]
  })
}
