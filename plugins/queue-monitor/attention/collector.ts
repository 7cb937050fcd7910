import { type AttentionReport, type CollectSlot, countText, messageOf, withDeadline } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import type { Kv } from 'zin/plugins/kv'
import { type OwnedFact, oneLine } from './item.js'
import type { Found } from './track.js'

export interface CollectorParts {
  readonly slot: CollectSlot<[where: 'app' | 'process'], AttentionReport>
  readonly cluster: Cluster
  readonly kv: Kv
  /** The kinds that a plugin declares; none if it declares none. */
  readonly kindsOf: (plugin: string) => readonly string[]
  /** How long the facts of a process are kept without being renewed, in ms. */
  readonly keptMs: number
}

/** What a process publishes for the one that checks. */
type Published = Pick<Found, 'facts' | 'notChecked'>

/** Processes whose facts are read, and facts of one process that are published. */
const mostProcesses = 1_000
const mostPublished = 50
const callMs = 2_000
const keyOf = (node: string): string => `monitor:attention:process:${node}`

/** Collects the facts of all plugins: those of the app once, and those of each process, which the processes publish for the one that checks. */
export class Collector {
  readonly #parts: CollectorParts
  #published = false

  constructor(parts: CollectorParts) {
    this.#parts = parts
  }

  /** Publishes the facts of this process, and what it could not check. A process with neither writes nothing. */
  async publish(): Promise<void> {
    const { cluster, keptMs, kv } = this.#parts
    const { facts, notChecked } = await this.#ask('process')
    const published: Published = { facts: facts.slice(0, mostPublished), notChecked: notChecked.slice(0, mostPublished) }
    const isNone = facts.length === 0 && notChecked.length === 0
    if (!isNone) await kv.set(keyOf(cluster.node.id), JSON.stringify(published), { ttlMs: keptMs })
    else if (this.#published) await kv.delete(keyOf(cluster.node.id))
    this.#published = !isNone
  }

  /** Never rejects. */
  async collect(): Promise<Found> {
    const [app, here, others] = await Promise.all([this.#ask('app'), this.#ask('process'), this.#others()])
    const parts = [app, here, others]
    return {
      facts: [...app.facts, ...merged([...here.facts, ...others.facts])],
      notChecked: byKind(parts.flatMap(({ notChecked }) => notChecked)),
      failed: new Set(parts.flatMap(({ failed }) => [...failed])),
    }
  }

  async #ask(where: 'app' | 'process'): Promise<Found> {
    const { kindsOf, slot } = this.#parts
    const facts: OwnedFact[] = []
    const notChecked: Found['notChecked'][number][] = []
    const failed = new Set<string>()
    for (const [listener, report] of slot.active ? await slot.call(where) : []) {
      const plugin = listener.replace(/#\d+$/, '')
      if (report instanceof Error || !isReport(report)) {
        failed.add(plugin)
        const why = report instanceof Error ? messageOf(report) : 'its listener of collectAttention must return {facts}'
        const kinds = kindsOf(plugin)
        const reason = oneLine(`The plugin ${plugin} could not be asked: ${why}`)
        notChecked.push(...(kinds.length === 0 ? [plugin] : kinds).map((kind) => ({ plugin, kind, reason })))
        continue
      }
      facts.push(...report.facts.map((fact) => ({ ...fact, plugin })))
      for (const { kind, reason } of report.notChecked ?? []) notChecked.push({ plugin, kind, reason: oneLine(reason) })
    }
    return { facts, notChecked, failed }
  }

  /** The published facts of the other processes, in one round trip. */
  async #others(): Promise<Found> {
    const { cluster, kv } = this.#parts
    const ids = cluster.nodes().flatMap(({ alive, id }) => (alive && id !== cluster.node.id ? [id] : []))
    const none: Found = { facts: [], notChecked: [], failed: new Set<string>() }
    if (ids.length === 0) return none
    try {
      const read = kv.getMany(ids.slice(0, mostProcesses).map(keyOf))
      const texts = await withDeadline(read, callMs, `no response within ${callMs} ms`)
      const all = texts.flatMap((text) => (text === null ? [] : [JSON.parse(text) as Published]))
      return { ...none, facts: all.flatMap(({ facts }) => facts), notChecked: all.flatMap(({ notChecked }) => notChecked) }
    } catch (error) {
      const reason = oneLine(`What the other ${ids.length} processes report could not be read: ${messageOf(error)}`)
      return { ...none, notChecked: [{ kind: 'processes', reason }] }
    }
  }
}

/** Several processes may report the same: it is one fact, with the number of processes. */
function merged(facts: readonly OwnedFact[]): readonly OwnedFact[] {
  const found = new Map<string, OwnedFact>()
  for (const fact of facts) {
    const key = JSON.stringify([fact.plugin, fact.kind, fact.subject, fact.key])
    const known = found.get(key)
    const since = [known?.since, fact.since].filter((one) => one !== undefined)
    const count = (known?.count ?? 0) + (fact.count ?? 1)
    found.set(key, { ...(known ?? fact), count, ...(since.length === 0 ? {} : { since: Math.min(...since) }) })
  }
  return [...found.values()]
}

/** Each kind of a plugin once: with the first reason, and how many others there are. */
function byKind(all: Found['notChecked']): Found['notChecked'] {
  const found = new Map<string, Found['notChecked'][number] & { readonly others: ReadonlySet<string> }>()
  for (const one of all) {
    const key = `${one.plugin} ${one.kind}`
    const known = found.get(key)
    if (known === undefined) found.set(key, { ...one, others: new Set() })
    else if (known.reason !== one.reason) found.set(key, { ...known, others: new Set([...known.others, one.reason]) })
  }
  return [...found.values()].map(({ others, reason, ...one }) => ({
    ...one,
    reason: others.size === 0 ? reason : `${reason} (and ${countText(others.size, 'other reason')})`,
  }))
}

/** Plugins in JavaScript may return anything. */
function isReport(report: unknown): report is AttentionReport {
  return typeof report === 'object' && report !== null && 'facts' in report && Array.isArray(report.facts)
}
