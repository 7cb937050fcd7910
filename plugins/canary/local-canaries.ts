import { type Clock, type Logger, messageOf, type PluginHooks } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import type { Workers } from 'zin/plugins/workers'
import { guardChanges } from './guard.js'
import { isLive } from './machine.js'
import { canaryAlarm } from './messages.js'
import { Observer } from './observer.js'
import type { CanaryRecord } from './record.js'
import type { CanaryStore, Casualty } from './store/contract.js'

export interface LocalParts {
  readonly store: CanaryStore
  readonly workers: Workers
  readonly cluster: Cluster
  readonly hooks: PluginHooks
  readonly clock: Clock
  readonly log: Logger
  /** A worker with a live canary was removed. */
  readonly onRemoved: (worker: string) => Promise<void>
  /** Adds casualties to their queue again. */
  readonly replay: (record: CanaryRecord, casualties: readonly Casualty[]) => Promise<unknown>
}

interface Local {
  readonly observer: Observer
  stopRoute: (() => void) | undefined
  readonly stopWrap: () => void
}

/** The canaries in this process. While there is none, nothing listens to attempts and nothing routes jobs. */
export class LocalCanaries {
  readonly #parts: LocalParts
  readonly #local = new Map<string, Local>()
  #stopListening: (() => void) | undefined
  #flushing: Promise<void> | undefined
  #again = false
  #down = false

  constructor(parts: LocalParts) {
    this.#parts = parts
  }

  /** Reads all live canaries: for the start, and for messages that were missed. Never rejects. */
  async sync(): Promise<void> {
    try {
      const live = await this.#parts.store.live()
      for (const record of live) this.take(record)
      const gone = [...this.#local.keys()].filter((worker) => !live.some((record) => record.worker === worker))
      for (const worker of gone) await this.#refresh(worker)
      this.#down = false
    } catch (error) {
      if (!this.#down) this.#parts.log.warn({ err: error }, `the canaries could not be read; retrying: ${messageOf(error)}`)
      this.#down = true
    }
  }

  /** Those that have not ended. */
  get live(): readonly CanaryRecord[] {
    return [...this.#local.values()].map(({ observer }) => observer.record).filter(isLive)
  }

  /** As this process knows it; undefined: none. */
  get(worker: string): CanaryRecord | undefined {
    return this.#local.get(worker)?.observer.record
  }

  /** Reads one. Never rejects: the next sync reads it again. */
  async refresh(worker: string): Promise<void> {
    await this.#refresh(worker).catch((error: unknown) => this.#parts.log.debug({ worker, err: error }, 'a canary could not be read'))
  }

  /** Acts on what is stored. */
  take(record: CanaryRecord): void {
    const known = this.#local.get(record.worker)
    if (known !== undefined && known.observer.record.id !== record.id) this.#close(record.worker)
    const local = this.#local.get(record.worker)
    if (local === undefined) {
      if (isLive(record)) this.#open(record)
      return
    }
    local.observer.follow(record)
    if (isLive(local.observer.record)) return
    local.stopRoute?.()
    local.stopRoute = undefined
    void this.flush()
  }

  /** Stores what was counted. One at a time; never rejects. */
  flush(): Promise<void> {
    this.#again = this.#flushing !== undefined
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined
      if (this.#again) void this.flush()
    })
    return this.#flushing
  }

  async close(): Promise<void> {
    await this.flush()
    for (const worker of [...this.#local.keys()]) this.#close(worker)
  }

  async #refresh(worker: string): Promise<void> {
    const record = await this.#parts.store.get(worker)
    if (record === undefined) this.#close(worker)
    else this.take(record)
  }

  #open(record: CanaryRecord): void {
    const { clock, log, workers } = this.#parts
    const { worker } = record
    const observer = new Observer(record, {
      now: () => clock.monotonic(),
      onAlarm: () => void this.#alarm(worker),
      onCasualty: () => void this.flush(),
    })
    let stopRoute: (() => void) | undefined
    try {
      stopRoute = workers.routeVersions(worker, observer.route)
    } catch (error) {
      log.error({ worker, err: error }, `the canary of worker "${worker}" gets no jobs in this node: ${messageOf(error)}`)
    }
    const { inFlight, shield } = record.spec
    const wraps = shield || inFlight === 'abort'
    const stopWrap = wraps ? workers.useJobMiddleware(observer.wrap, { plugin: 'canary', order: 'post' }) : () => undefined
    this.#local.set(worker, { observer, stopRoute, stopWrap })
    this.#stopListening ??= this.#listen()
  }

  #listen(): () => void {
    const { hooks, onRemoved, store } = this.#parts
    const stops = [
      hooks.on('onAttemptEnd', (end) => this.#local.get(end.worker)?.observer.end(end)),
      hooks.on('beforeWorkerChange', (change) =>
        this.#local.has(change.worker) ? guardChanges(change, () => store.get(change.worker)) : undefined,
      ),
      hooks.on('onWorkerChange', ({ action, worker }) => (action === 'remove' && this.#local.has(worker) ? onRemoved(worker) : undefined)),
    ]
    return () => stops.forEach((stop) => void stop())
  }

  #close(worker: string): void {
    const local = this.#local.get(worker)
    if (local === undefined) return
    this.#local.delete(worker)
    local.stopRoute?.()
    local.stopWrap()
    if (this.#local.size > 0) return
    this.#stopListening?.()
    this.#stopListening = undefined
  }

  /** The evidence is there before the leader looks. */
  async #alarm(worker: string): Promise<void> {
    const { cluster, log } = this.#parts
    await this.flush()
    await cluster
      .send(canaryAlarm, { worker })
      .catch((error: unknown) => log.debug({ worker, err: error }, 'the leader was not asked to look'))
  }

  /** Also those of jobs that ended after the leader has replayed what it knew of. */
  async #replay(observer: Observer): Promise<void> {
    const { log, replay } = this.#parts
    const { record } = observer
    const due = observer.takeReplays()
    if (due.length === 0) return
    await replay(record, due).catch((error: unknown) => {
      const hint = `zin canary:replay ${record.worker} does it`
      log.warn({ worker: record.worker, err: error }, `casualties of a canary were not all replayed, ${hint}: ${messageOf(error)}`)
    })
  }

  async #flush(): Promise<void> {
    const { cluster, log, store } = this.#parts
    for (const [worker, { observer }] of this.#local) {
      const { id } = observer.record
      const steps = observer.takeEvidence()
      const casualties = observer.takeCasualties()
      try {
        for (const { evidence, step } of steps) await store.saveEvidence(id, cluster.node.id, step, evidence)
        if (casualties !== undefined) await store.saveCasualties(id, cluster.node.id, casualties)
      } catch (error) {
        observer.putBack(
          steps.map(({ step }) => step),
          casualties !== undefined,
        )
        log.debug({ worker, err: error }, 'what a canary has seen was not stored yet')
        continue
      }
      void this.#replay(observer)
      if (!isLive(observer.record) && !observer.busy && this.#local.get(worker)?.observer === observer) this.#close(worker)
    }
  }
}
