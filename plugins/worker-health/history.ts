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

/** Its node forgets old history. */
const role = 'worker-health'

/** What checks found over time. */
export class History {
  readonly #parts: HistoryParts
  #lead: Leadership | undefined
  #told = false

  constructor(parts: HistoryParts) {
    this.#parts = parts
  }

  /** A store that is down loses samples, with one warning; checks go on. */
  async add(worker: string, outcome: CheckOutcome): Promise<void> {
    const { log, store, workers } = this.#parts
    try {
      const { node } = workers().local
      const { score } = await workers().health(worker)
      const { at, healthy, durationMs, error = null } = outcome
      await store.add({ worker, node, at, healthy, score, durationMs, error })
      this.#told = false
    } catch (error) {
      if (!this.#told) log.warn({ err: error }, `health checks are not in the history: ${messageOf(error)}`)
      this.#told = true
    }
  }

  /** Newest first, and none older than what is kept. 404 for an unknown worker. */
  async read(worker: string, hours: number, limit: number): Promise<readonly HealthSample[]> {
    const { clock, keepMs, store, workers } = this.#parts
    await workers().get(worker)
    return store.read(worker, clock.now() - Math.min(hours * hourMs, keepMs), limit)
  }

  /** Forgets what is old, in the process that leads. */
  async prune(): Promise<void> {
    const { clock, cluster, keepMs, store } = this.#parts
    this.#lead ??= cluster.lead(role)
    if (this.#lead.leads && (await cluster.isCurrent(role, this.#lead.epoch))) await store.prune(clock.now() - keepMs)
  }

  async close(): Promise<void> {
    await this.#lead?.resign()
  }
}
