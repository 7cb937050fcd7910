import { type Clock, type Logger, messageOf, type PluginHooks, withDeadline } from 'zin'
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
  readonly hidesErrors: () => boolean
  /** Called when a worker with a live canary was removed. */
  readonly onRemoved: (worker: string) => Promise<void>
  /** Adds casualties to their queue again, and calls `onDone` for each one that needs no further replay. */
  readonly replay: (record: CanaryRecord, casualties: readonly Casualty[], onDone: (casualty: Casualty) => void) => Promise<unknown>
  /** How long `close` waits for replays at most, in ms. */
  readonly closeMs: () => number
}

interface Local {
  readonly observer: Observer
  stopRoute: (() => void) | undefined
  readonly stopWrap: () => void
}

/** The canaries in this process. Without any, it neither listens to attempts nor routes jobs. */
export class LocalCanaries {
  readonly #parts: LocalParts
  readonly #local = new Map<string, Local>()
  /** Replays in progress, at most one per canary. */
  readonly #replaying = new Map<Observer, Promise<void>>()
  /** Canaries whose failed replay was logged. */
  readonly #warned = new WeakSet<Observer>()
  #stopListening: (() => void) | undefined
  #flushing: Promise<void> | undefined
  #again = false
  #down = false

  constructor(parts: LocalParts) {
    this.#parts = parts
  }

  /** Reads all live canaries, at startup and to catch up on missed messages. Never rejects. */
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

  /** The canaries that have not ended. */
  get live(): readonly CanaryRecord[] {
    return [...this.#local.values()].map(({ observer }) => observer.record).filter(isLive)
  }

  /** Returns the record known to this process, if any. */
  get(worker: string): CanaryRecord | undefined {
    return this.#local.get(worker)?.observer.record
  }

  /** Reads one canary. Never rejects: the next sync reads it again. */
  async refresh(worker: string): Promise<void> {
    await this.#refresh(worker).catch((error: unknown) => this.#parts.log.debug({ worker, err: error }, 'a canary could not be read'))
  }

  /** Applies a stored record. */
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

  /** Stores new counts. Flushes run one at a time; never rejects. */
  flush(): Promise<void> {
    this.#again = this.#flushing !== undefined
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined
      if (this.#again) void this.flush()
    })
    return this.#flushing
  }

  /** Stores all counts, and finishes automatic replays within `closeMs`. */
  async close(): Promise<void> {
    const { closeMs, log } = this.#parts
    await this.#flushAll()
    await withDeadline(Promise.all(this.#replaying.values()), closeMs(), 'too late').catch(() => undefined)
    for (const [worker, { observer }] of this.#local) {
      const { length } = observer.dueReplays()
      if (length > 0)
        log.warn({ worker, jobs: length }, `not all jobs that failed on a canary were replayed: run zin canary:replay ${worker}`)
    }
    for (const worker of [...this.#local.keys()]) this.#close(worker)
  }

  /** Stores all counts up to now, including those that a running flush has missed. */
  async #flushAll(): Promise<void> {
    void this.flush()
    while (this.#flushing !== undefined) await this.#flushing
  }

  async #refresh(worker: string): Promise<void> {
    const record = await this.#parts.store.get(worker)
    if (record === undefined) this.#close(worker)
    else this.take(record)
  }

  #open(record: CanaryRecord): void {
    const { clock, hidesErrors, log, workers } = this.#parts
    const { worker } = record
    const observer = new Observer(record, {
      now: () => clock.monotonic(),
      date: () => clock.now(),
      hidesErrors,
      onAlarm: () => void this.#alarm(worker),
      onCasualty: () => void this.flush(),
    })
    let stopRoute: (() => void) | undefined
    try {
      stopRoute = workers.routeVersions(worker, observer.route)
    } catch (error) {
      log.error({ worker, err: error }, `the canary of worker "${worker}" gets no jobs on this node: ${messageOf(error)}`)
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

  /** Stores the evidence before the leader is notified. */
  async #alarm(worker: string): Promise<void> {
    const { cluster, log } = this.#parts
    await this.#flushAll()
    await cluster
      .send(canaryAlarm, { worker })
      .catch((error: unknown) => log.debug({ worker, err: error }, 'the leader could not be notified of a canary alarm'))
  }

  /** Replays casualties of this process, including jobs that ended after the leader replayed the known ones. A later flush retries failures. */
  #replay(observer: Observer): void {
    if (this.#replaying.has(observer) || observer.dueReplays().length === 0) return
    this.#replaying.set(observer, this.#replayDue(observer))
  }

  async #replayDue(observer: Observer): Promise<void> {
    const { log, replay } = this.#parts
    const { worker } = observer.record
    try {
      // Further jobs may end meanwhile.
      for (let due = observer.dueReplays(); due.length > 0; due = observer.dueReplays()) {
        await replay(observer.record, due, observer.replayed)
        due.forEach(observer.replayed)
      }
    } catch (error) {
      const level = this.#warned.has(observer) ? 'debug' : 'warn'
      this.#warned.add(observer)
      log[level]({ worker, err: error }, `not all jobs that failed on a canary were replayed; retrying: ${messageOf(error)}`)
    } finally {
      this.#replaying.delete(observer)
    }
  }

  async #flush(): Promise<void> {
    const { cluster, log, store } = this.#parts
    for (const [worker, { observer }] of this.#local) {
      const { id } = observer.record
      const steps = observer.takeEvidence()
      const casualties = observer.takeCasualties()
      try {
        for (const { evidence, step } of steps) await store.saveEvidence(id, cluster.node.id, step, evidence)
        if (casualties !== undefined) {
          await store.saveCasualties(id, cluster.node.id, casualties)
          observer.stored(casualties)
        }
      } catch (error) {
        observer.putBack(
          steps.map(({ step }) => step),
          casualties !== undefined,
        )
        log.debug({ worker, err: error }, 'the counts of a canary could not be stored; retrying')
        continue
      }
      this.#replay(observer)
      if (!isLive(observer.record) && !observer.busy && this.#local.get(worker)?.observer === observer) this.#close(worker)
    }
  }
}
