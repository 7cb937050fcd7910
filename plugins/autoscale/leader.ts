import type { Clock } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { Workers } from 'zin/plugins/workers'
import type { Mover } from './regions/mover.js'
import type { Scaler } from './scaler.js'
import { allWorkers } from './signals.js'
import type { StatusStore, StoredStatus } from './status-store.js'

export interface LeaderParts {
  readonly cluster: Cluster
  readonly workers: Workers
  readonly scaler: Scaler
  readonly mover: Mover
  readonly statuses: StatusStore
  readonly clock: Clock
  /** WORKER_AUTO_SCALING_ENABLED. */
  readonly scales: boolean
  readonly intervalMs: number
}

const role = 'autoscale'
/** How often workers are read while autoscaling is off, and nodes while regions are watched, in ms. */
const idleMs = 60_000
const regionsMs = 2_000

/** Evaluates and moves workers at each tick, on the leader only. */
export class AutoscaleLeader {
  readonly #parts: LeaderParts
  #leadership: Leadership | undefined
  #readAt = 0
  #lookedAt = 0

  constructor(parts: LeaderParts) {
    this.#parts = parts
  }

  start(): void {
    this.#leadership = this.#parts.cluster.lead(role)
  }

  async stop(): Promise<void> {
    await this.#leadership?.resign()
    this.#leadership = undefined
  }

  /** The last statuses; empty while another node leads. */
  get statuses(): readonly StoredStatus[] {
    return this.#leadership?.leads === true ? this.#parts.scaler.statuses : []
  }

  async tick(): Promise<void> {
    const { clock, cluster, mover, scaler } = this.#parts
    const leadership = this.#leadership
    if (leadership?.leads !== true) {
      scaler.reset()
      mover.reset()
      this.#readAt = 0
      return
    }
    const now = clock.monotonic()
    const readsWorkers = this.#readAt === 0 || now >= this.#readAt || scaler.isDue
    const looksAtRegions = readsWorkers || (mover.isNeeded && now >= this.#lookedAt + regionsMs)
    if (!looksAtRegions) return
    if (!(await cluster.isCurrent(role, leadership.epoch))) return
    if (readsWorkers) await this.#readWorkers(now)
    const nodes = await this.#parts.workers.nodes()
    this.#lookedAt = now
    if (readsWorkers && this.#parts.scales) await this.#scale(nodes)
    if (mover.isNeeded) await mover.run(nodes)
  }

  #all: Awaited<ReturnType<typeof allWorkers>> = []

  async #readWorkers(now: number): Promise<void> {
    const { intervalMs, mover, scales, workers } = this.#parts
    this.#all = await allWorkers(workers)
    this.#readAt = now + (scales ? intervalMs : idleMs)
    mover.know(this.#all)
  }

  async #scale(nodes: Awaited<ReturnType<Workers['nodes']>>): Promise<void> {
    const { scaler, statuses } = this.#parts
    if (scaler.isNew) scaler.follow(await statuses.read())
    await scaler.run(this.#all, nodes)
    await statuses.write(scaler.statuses)
  }
}
