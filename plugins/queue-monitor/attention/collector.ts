import { type AttentionReport, type CollectSlot, messageOf, withDeadline } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import type { Kv } from 'zin/plugins/kv'
import { type OwnedFact, oneLine } from './item.js'
import type { Found } from './track.js'

export interface CollectorParts {
  readonly slot: CollectSlot<[where: 'app' | 'process'], AttentionReport>
  readonly cluster: Cluster
  readonly kv: Kv
  /** How long the facts of a process are kept without being renewed, in ms. */
  readonly keptMs: number
}

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

  /** Publishes the facts of this process. A process without facts writes nothing. */
  async publish(): Promise<void> {
    const { cluster, keptMs, kv } = this.#parts
    const found = await this.#ask('process')
    const facts = found.facts.slice(0, mostPublished)
    if (facts.length > 0) await kv.set(keyOf(cluster.node.id), JSON.stringify(facts), { ttlMs: keptMs })
    else if (this.#published) await kv.delete(keyOf(cluster.node.id))
    this.#published = facts.length > 0
  }

  /** Never rejects. */
  async collect(): Promise<Found> {
    const [app, here, others] = await Promise.all([this.#ask('app'), this.#ask('process'), this.#others()])
    const parts = [app, here, others]
    return {
      facts: [...app.facts, ...merged([...here.facts, ...others.facts])],
      notChecked: parts.flatMap(({ notChecked }) => notChecked),
      failed: new Set(parts.flatMap(({ failed }) => [...failed])),
    }
  }

  async #ask(where: 'app' | 'process'): Promise<Found> {
    const { slot } = this.#parts
    const facts: OwnedFact[] = []
    const notChecked: Found['notChecked'][number][] = []
    const failed = new Set<string>()
    for (const [listener, report] of slot.active ? await slot.call(where) : []) {
      const plugin = listener.replace(/#\d+$/, '')
      if (report instanceof Error || !isReport(report)) {
        failed.add(plugin)
        const why = report instanceof Error ? messageOf(report) : 'its listener of collectAttention must return {facts}'
        notChecked.push({ plugin, kind: plugin, reason: oneLine(`The plugin ${plugin} could not be asked: ${why}`) })
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
    const none = { facts: [], notChecked: [], failed: new Set<string>() }
    if (ids.length === 0) return none
    try {
      const read = kv.getMany(ids.slice(0, mostProcesses).map(keyOf))
      const texts = await withDeadline(read, callMs, `no response within ${callMs} ms`)
      return { ...none, facts: texts.flatMap((text) => (text === null ? [] : (JSON.parse(text) as OwnedFact[]))) }
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

/** Plugins in JavaScript may return anything. */
function isReport(report: unknown): report is AttentionReport {
  return typeof report === 'object' && report !== null && 'facts' in report && Array.isArray(report.facts)
}
