import { type Clock, type Disposer, type Logger, messageOf, withDeadline } from 'zin'
import type { AlertChange, Alerts } from './alerts/alerts.js'
import { Bucket } from './history/aggregate.js'
import type { Sampler } from './sample/sampler.js'
import type { ResourceSnapshot } from './snapshot.js'
import type { ResourceStore } from './store/contract.js'
import { forecast } from './trends/forecast.js'
import type { Point } from './trends/theil-sen.js'

export interface MonitorParts {
  /** Id of this node. */
  readonly node: () => string
  readonly sampler: Pick<Sampler, 'open' | 'close' | 'sample'>
  readonly store: ResourceStore
  readonly alerts: Alerts
  readonly onAlert: (change: AlertChange) => void
  readonly clock: Clock
  readonly log: Logger
  readonly intervalMs: number
  readonly every: (ms: number, task: () => Promise<void>) => Disposer
}

/** Deadline of a write, in ms. */
const writeMs = 5_000
/** Time window of the memory trend, and minimum interval of its points, in ms. */
const trendWindowMs = 3_600_000
const trendStepMs = 30_000

/** Takes a snapshot of this node at each interval. While it is stopped, nothing is measured and no timer runs. */
export class Monitor {
  readonly #parts: MonitorParts
  readonly #bucket = new Bucket()
  #memory: Point[] = []
  #timer: Disposer | undefined
  #last: Promise<void> = Promise.resolve()
  #warned = false

  constructor(parts: MonitorParts) {
    this.#parts = parts
  }

  get running(): boolean {
    return this.#timer !== undefined
  }

  /** Takes the first snapshot immediately; resolves when it is stored. */
  start(): Promise<void> {
    if (this.#timer !== undefined) return this.#last
    const { every, intervalMs, sampler } = this.#parts
    sampler.open()
    this.#timer = every(intervalMs, () => this.#next())
    return this.#next()
  }

  async stop(): Promise<void> {
    if (this.#timer === undefined) return
    this.#timer()
    this.#timer = undefined
    await this.#last
    const { alerts, clock, onAlert, sampler } = this.#parts
    sampler.close()
    for (const change of alerts.end(clock.now())) onAlert(change)
    this.#memory = []
  }

  #next(): Promise<void> {
    this.#last = this.#last.then(() => this.#snapshot())
    return this.#last
  }

  async #snapshot(): Promise<void> {
    if (this.#timer === undefined) return
    const { alerts, clock, log, node, onAlert, sampler } = this.#parts
    try {
      const { spanMs, usage } = await sampler.sample()
      const [at, elapsed] = [clock.now(), clock.monotonic()]
      this.#remember({ at: elapsed, value: usage.rss })
      const changes = alerts.observe({ ...usage, memory: forecast(this.#memory, usage.memoryLimit) }, at, elapsed)
      for (const change of changes) onAlert(change)
      await this.#store({ ...usage, node: node(), at, spanMs, alerts: alerts.active })
    } catch (error) {
      log.error({ err: error }, `the resources of this node could not be measured: ${messageOf(error)}`)
    }
  }

  #remember(point: Point): void {
    const last = this.#memory.at(-1)
    if (last !== undefined && point.at - last.at < trendStepMs) return
    this.#memory = [...this.#memory.filter(({ at }) => at > point.at - trendWindowMs), point]
  }

  /** If the store is down, snapshots are lost with one warning, but alerts still work. */
  async #store(snapshot: ResourceSnapshot): Promise<void> {
    const { log, store } = this.#parts
    try {
      await withDeadline(store.add(snapshot, this.#bucket.add(snapshot)), writeMs, `no response within ${writeMs} ms`)
      this.#warned = false
    } catch (error) {
      if (!this.#warned) log.warn({ err: error }, `resource snapshots could not be stored: ${messageOf(error)}`)
      this.#warned = true
    }
  }
}
