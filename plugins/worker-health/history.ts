import { type Clock, type Logger, messageOf } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { Workers, WorkerView } from 'zin/plugins/workers'
import { type CheckOutcome, type HealthSample, sampleOf } from './outcome.js'
import type { HistoryStore } from './store/contract.js'

export interface HistoryParts {
  readonly store: HistoryStore
  readonly workers: () => Pick<Workers, 'get' | 'health' | 'list' | 'local'>
  readonly cluster: Pick<Cluster, 'lead' | 'isCurrent'>
  readonly clock: Clock
  readonly log: Logger
  /** Time between two checks of a worker on one node, in ms. */
  readonly intervalMs: number
  readonly keepMs: number
}

const hourMs = 3_600_000

/** The leader writes the history: one sample of each worker and interval, however many nodes check it. */
const role = 'worker-health'

/** The results of checks over time. */
export class History {
  readonly #parts: HistoryParts
  /** Worker → time of its newest check in the history. */
  readonly #recorded = new Map<string, number>()
  #lead: Leadership | undefined
  #warned = false

  constructor(parts: HistoryParts) {
    this.#parts = parts
  }

  /** Runs for the leader role. */
  open(): void {
    this.#lead = this.#parts.cluster.lead(role)
  }

  /** Adds a check that ended on this node, when this node writes the history. */
  async add(worker: string, outcome: CheckOutcome): Promise<void> {
    if (this.#writes) await this.#guard(() => this.#record(worker, outcome))
  }

  /** On the leader, adds the checks of workers that run on other nodes only. Call it once per interval. */
  async collect(): Promise<void> {
    if (this.#parts.store.shared && this.#writes) await this.#guard(() => this.#collect())
  }

  /** Newest first, within the retention time. 404 for an unknown worker. */
  async read(worker: string, hours: number, limit: number): Promise<readonly HealthSample[]> {
    const { clock, keepMs, store, workers } = this.#parts
    await workers().get(worker)
    return store.read(worker, clock.now() - Math.min(hours * hourMs, keepMs), limit)
  }

  /** Number of workers whose newest check in the history is remembered. */
  get remembered(): number {
    return this.#recorded.size
  }

  /** Deletes old samples. */
  async prune(): Promise<void> {
    const { clock, cluster, intervalMs, keepMs, store } = this.#parts
    // Checks that old are not recorded again anyway.
    const old = clock.now() - 2 * intervalMs
    for (const [worker, at] of this.#recorded) if (at <= old) this.#recorded.delete(worker)
    const lead = this.#lead
    const current = !store.shared || (lead?.leads === true && (await cluster.isCurrent(role, lead.epoch)))
    if (current) await store.prune(clock.now() - keepMs)
  }

  /** Deletes samples from before a time, ms since 1970. */
  async purge(before: number): Promise<void> {
    await this.#parts.store.prune(before)
  }

  async close(): Promise<void> {
    await this.#lead?.resign()
  }

  /** A history that other nodes do not see is written on every node. */
  get #writes(): boolean {
    return !this.#parts.store.shared || this.#lead?.leads === true
  }

  async #collect(): Promise<void> {
    const { list } = this.#parts.workers().local
    const names = new Set<string>()
    for await (const { monitored, name, state } of this.#allWorkers()) {
      names.add(name)
      const here = list().some((worker) => worker.name === name && worker.monitored && worker.state === 'running')
      if (monitored && state !== 'stopped' && !here && this.#writes) await this.#record(name)
    }
    for (const name of this.#recorded.keys()) if (!names.has(name)) this.#recorded.delete(name)
  }

  /** Page by page. */
  async *#allWorkers(): AsyncGenerator<WorkerView> {
    for (let page = 1, pages = 1; page <= pages; page++) {
      const { workers, pagination } = await this.#parts.workers().list({ page })
      pages = pagination.totalPages
      yield* workers
    }
  }

  /** @param outcome a check on this node that other nodes may not see yet. */
  async #record(worker: string, outcome?: CheckOutcome): Promise<void> {
    const { clock, intervalMs, store, workers } = this.#parts
    const { node } = workers().local
    const { checks, score } = await workers().health(worker)
    const own = outcome === undefined ? checks.filter((check) => check.node === node) : [{ node, ...outcome }]
    const all = [...checks.filter((check) => check.node !== node), ...own]
    const sample = sampleOf(worker, score, all)
    // An old check belongs to a worker that no longer runs, or was recorded by the previous leader.
    const last = Math.max(this.#recorded.get(worker) ?? 0, clock.now() - 2 * intervalMs)
    if (sample === undefined || (outcome === undefined && sample.at <= last)) return
    await store.add(sample)
    this.#recorded.set(worker, sample.at)
  }

  /** When a store is down, samples are lost with one warning, and checks continue. */
  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.#warned = false
    } catch (error) {
      if (!this.#warned) this.#parts.log.warn({ err: error }, `health checks could not be added to the history: ${messageOf(error)}`)
      this.#warned = true
    }
  }
}
