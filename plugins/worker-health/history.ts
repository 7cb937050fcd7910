import { type Clock, type Logger, messageOf } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { Workers } from 'zin/plugins/workers'
import type { CheckOutcome, HealthSample } from './outcome.js'
import type { HistoryStore } from './store/contract.js'

export interface HistoryParts {
  readonly store: HistoryStore
  readonly workers: () => Workers
  readonly cluster: Cluster
  readonly clock: Clock
  readonly log: Logger
  readonly keepMs: number
}

const hourMs = 3_600_000

/** The leader deletes old history. */
const role = 'worker-health'

/** The results of checks over time. */
export class History {
  readonly #parts: HistoryParts
  #lead: Leadership | undefined
  #warned = false

  constructor(parts: HistoryParts) {
    this.#parts = parts
  }

  /** When the store is down, samples are lost with one warning, and checks continue. */
  async add(worker: string, outcome: CheckOutcome): Promise<void> {
    const { log, store, workers } = this.#parts
    try {
      const { node } = workers().local
      const { score } = await workers().health(worker)
      const { at, healthy, durationMs, error = null } = outcome
      await store.add({ worker, node, at, healthy, score, durationMs, error })
      this.#warned = false
    } catch (error) {
      if (!this.#warned) log.warn({ err: error }, `health checks could not be added to the history: ${messageOf(error)}`)
      this.#warned = true
    }
  }

  /** Newest first, within the retention time. 404 for an unknown worker. */
  async read(worker: string, hours: number, limit: number): Promise<readonly HealthSample[]> {
    const { clock, keepMs, store, workers } = this.#parts
    await workers().get(worker)
    return store.read(worker, clock.now() - Math.min(hours * hourMs, keepMs), limit)
  }

  /** Deletes old samples, on the leader only. */
  async prune(): Promise<void> {
    const { clock, cluster, keepMs, store } = this.#parts
    this.#lead ??= cluster.lead(role)
    if (this.#lead.leads && (await cluster.isCurrent(role, this.#lead.epoch))) await store.prune(clock.now() - keepMs)
  }

  async close(): Promise<void> {
    await this.#lead?.resign()
  }
}
