import { type Logger, messageOf, withDeadline } from 'zin'
import { type Cluster, defineMessage } from 'zin/plugins/cluster'
import type { Kv } from 'zin/plugins/kv'
import type { Workers } from 'zin/plugins/workers'
import { resourceErrors } from './errors.js'
import { resourceMonitoring } from './feature.js'
import type { Monitor } from './monitor.js'
import { type OperatorChoice, type StartDecision, shouldRun } from './start-rule.js'

export interface ControlParts {
  /** WORKER_RESOURCE_MONITORING. */
  readonly enabled: boolean
  readonly kv: Kv
  readonly cluster: Cluster
  readonly workers: () => Workers
  readonly monitor: Pick<Monitor, 'start' | 'stop'>
  readonly log: Logger
}

/** Tells nodes to re-evaluate: an operator acted, or the first or last worker with the feature may have changed. */
const changed = defineMessage<{ readonly cause: 'operator' | 'added' | 'removed' }>('resources.changed')
const key = 'resources:operator'
const pageSize = 100
/** Deadline of a read or write of the operator's choice, in ms. */
const storeMs = 5_000

/** Starts and stops the monitor of this process, based on the start rule and the operators' choice for the whole app. */
export class Control {
  readonly #parts: ControlParts
  #operator: OperatorChoice
  #wanted = false
  /** Whether the known state may be out of date. */
  #stale = true
  #tail: Promise<void> = Promise.resolve()
  #closed = false

  constructor(parts: ControlParts) {
    this.#parts = parts
  }

  get state(): StartDecision {
    return shouldRun({ enabled: this.#parts.enabled, operator: this.#operator, wanted: this.#wanted })
  }

  get stoppedByOperator(): boolean {
    return this.#operator === 'stopped'
  }

  /** Subscribes to messages of other nodes. Returns a function that unsubscribes. */
  follow(): () => void {
    const { cluster } = this.#parts
    const unsubscribe = cluster.on(changed, ({ cause }) => {
      if (cause === 'added' && this.#wanted && !this.#stale) return
      this.#reload()
    })
    const unsubscribeMissed = cluster.onMissed(() => this.#reload())
    return () => {
      unsubscribe()
      unsubscribeMissed()
    }
  }

  /** Reads the stored state if it may have changed, and applies it. Never rejects. */
  refresh(): Promise<void> {
    this.#tail = this.#tail.then(async () => {
      if (!this.#stale || this.#closed) return
      this.#stale = false
      try {
        this.#operator = await this.#readOperator()
        this.#wanted = await this.#isWanted()
        await this.#apply()
      } catch (error) {
        this.#stale = true
        const { log } = this.#parts
        log.warn({ err: error }, `the state of resource monitoring could not be read; retrying: ${messageOf(error)}`)
      }
    })
    return this.#tail
  }

  /** Stores an operator's choice for all nodes, so that it survives restarts. */
  async choose(choice: 'started' | 'stopped'): Promise<void> {
    const { cluster, enabled, kv } = this.#parts
    if (choice === 'started' && !enabled) throw resourceErrors.RESOURCE_MONITORING_DISABLED()
    await withDeadline(kv.set(key, choice), storeMs, `no response from the key-value store within ${storeMs} ms`)
    this.#reload()
    await this.refresh()
    await cluster.send(changed, { cause: 'operator' })
  }

  /** Notifies all nodes that a worker gained or lost the feature. */
  async workerChanged(has: boolean): Promise<void> {
    await this.#parts.cluster.send(changed, { cause: has ? 'added' : 'removed' })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#tail
    await this.#parts.monitor.stop()
  }

  #reload(): void {
    this.#stale = true
    void this.refresh()
  }

  async #readOperator(): Promise<OperatorChoice> {
    const stored = await withDeadline(this.#parts.kv.get(key), storeMs, `no response from the key-value store within ${storeMs} ms`)
    return stored === 'started' || stored === 'stopped' ? stored : undefined
  }

  async #isWanted(): Promise<boolean> {
    for (let page = 1; ; page++) {
      const { pagination, workers } = await this.#parts.workers().list({ page, limit: pageSize, includeInactive: true })
      if (workers.some((worker) => resourceMonitoring.isOn(worker))) return true
      if (page >= pagination.totalPages) return false
    }
  }

  async #apply(): Promise<void> {
    const { monitor } = this.#parts
    await (this.state.run ? monitor.start() : monitor.stop())
  }
}
