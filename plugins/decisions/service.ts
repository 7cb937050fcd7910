import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import { type Cluster, defineMessage, type Leadership } from 'zin/plugins/cluster'
import { checkDecision, checkFilter } from './check.js'
import type { Decision, DecisionFilter, DecisionPage, Decisions, NewDecision } from './contract.js'
import { DecisionIds } from './ids.js'
import { Outbox } from './outbox.js'
import type { DecisionStore } from './store/contract.js'

export interface DecisionLogOptions {
  readonly store: DecisionStore
  readonly cluster: Pick<Cluster, 'isCurrent' | 'lead' | 'node' | 'on' | 'send'>
  readonly clock: Clock
  readonly log: Logger
  readonly keepMs: number
  /** Maximum number of decisions in the store. */
  readonly most: number
}

/** The leader deletes old decisions. */
const role = 'decisions'

/** Longest time a list waits until this node has stored its own decisions, in ms. The queries that follow have their own deadline. */
const flushMs = 500

const recorded = defineMessage<Decision>('decisions.recorded')

/** The service, with additional methods for the plugin itself. */
export class DecisionLog implements Decisions {
  readonly #options: DecisionLogOptions
  readonly #ids = new DecisionIds()
  readonly #outbox: Outbox
  readonly #listeners = new Map<symbol, (decision: Decision) => void>()
  #unsubscribe: () => void = () => undefined
  #open = false
  #lead: Leadership | undefined

  constructor(options: DecisionLogOptions) {
    const { log, store } = options
    this.#options = options
    this.#outbox = new Outbox({ add: (decisions) => store.add(decisions), log })
  }

  record(given: NewDecision): Decision {
    const { clock } = this.#options
    const now = clock.now()
    const decision: Decision = { id: this.#ids.next(now), at: new Date(now).toISOString(), ...checkDecision(given) }
    this.#outbox.put(decision)
    this.#publish(decision)
    return decision
  }

  async list(filter: DecisionFilter = {}): Promise<DecisionPage> {
    const { page, limit, ...query } = checkFilter(filter)
    await withDeadline(this.flush(), flushMs, '').catch(() => undefined)
    const { decisions, total } = await this.#options.store.list({ ...query, offset: (page - 1) * limit, limit })
    return { decisions, pagination: { page, limit, total, totalPages: Math.ceil(total / limit) } }
  }

  follow(listener: (decision: Decision) => void): () => void {
    const key = Symbol('listener')
    this.#listeners.set(key, listener)
    return () => void this.#listeners.delete(key)
  }

  flush(): Promise<void> {
    return this.#outbox.send()
  }

  /** Starts using the store and the cluster. */
  open(): void {
    const { cluster } = this.#options
    this.#open = true
    this.#unsubscribe = cluster.on(recorded, (decision, from) => {
      if (from !== cluster.node.id) this.#call(decision)
    })
    this.#outbox.open()
  }

  /** Deletes old decisions, on the leader only; with the memory store, on every node. */
  async prune(): Promise<void> {
    const { clock, cluster, keepMs, most, store } = this.#options
    if (store.kind !== 'memory') {
      this.#lead ??= cluster.lead(role)
      if (!this.#lead.leads || !(await cluster.isCurrent(role, this.#lead.epoch))) return
    }
    await store.prune(clock.now() - keepMs, most)
  }

  /** Stores the buffered decisions; those that cannot be stored are logged and dropped. */
  async close(): Promise<void> {
    this.#open = false
    this.#unsubscribe()
    await this.#outbox.close()
    await this.#lead?.resign()
    this.#listeners.clear()
  }

  /** Notifies listeners of this process, even while the cluster is unavailable, and other nodes. */
  #publish(decision: Decision): void {
    const { cluster, log } = this.#options
    this.#call(decision)
    if (!this.#open) return
    cluster.send(recorded, decision).catch((error: unknown) => {
      log.debug({ err: error, id: decision.id }, 'other nodes were not notified of a decision')
    })
  }

  #call(decision: Decision): void {
    for (const key of [...this.#listeners.keys()]) {
      try {
        this.#listeners.get(key)?.(decision)
      } catch (error) {
        this.#options.log.error({ err: error }, `a listener of decisions threw: ${messageOf(error)}`)
      }
    }
  }
}
