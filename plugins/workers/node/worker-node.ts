import { messageOf } from 'zin'
import { workerErrors } from '../errors.js'
import type { Processors } from '../processors/processors.js'
import type { StoredWorker } from '../store/store.js'
import type { WorkerMetrics, WorkerState } from '../types.js'
import { Consumer, type ConsumerParts, type StopLimits } from './consumer.js'
import { Counters } from './counters.js'
import { plan, type Seen } from './plan.js'

/** What this process does for a worker. `error`: why the last start failed. */
export interface Observed extends Seen {
  readonly error?: Error
}

export interface NodeParts extends ConsumerParts {
  /** Names this process among all of the app. */
  readonly id: string
  readonly processors: Processors
  readonly stopLimits: StopLimits
}

interface Slot {
  observed: Observed | undefined
  consumer: Consumer | undefined
  /** The end of the last step; steps of one worker never overlap. */
  tail: Promise<unknown>
  readonly counters: Counters
}

/** The workers of this process. It brings what runs here in line with desired states, and keeps no desire of its own. */
export class WorkerNode {
  readonly #parts: NodeParts
  readonly #slots = new Map<string, Slot>()
  #closing = false

  constructor(parts: NodeParts) {
    this.#parts = parts
  }

  get id(): string {
    return this.#parts.id
  }

  /** Names of the workers it knows. */
  names(): readonly string[] {
    return [...this.#slots.keys()]
  }

  observe(name: string): Observed | undefined {
    return this.#slots.get(name)?.observed
  }

  metrics(name: string): WorkerMetrics {
    return (this.#slots.get(name)?.counters ?? new Counters()).read()
  }

  /** Does what the worker's desired state asks for. Never rejects: a start that failed is in what it answers. */
  reconcile(worker: StoredWorker): Promise<Observed> {
    const slot = this.#slotOf(worker.record.name)
    return this.#enqueue(slot, () => this.#apply(slot, worker))
  }

  /** Takes note of a worker that should run but must not start by itself; its next change is applied. */
  hold(worker: StoredWorker): void {
    const slot = this.#slotOf(worker.record.name)
    slot.observed ??= { ...seenOf(worker), state: 'stopped' }
  }

  /** Stops and forgets a worker that is no longer stored. */
  async forget(name: string): Promise<void> {
    const slot = this.#slots.get(name)
    if (slot === undefined) return
    await this.#enqueue(slot, () => this.#stop(slot, name, this.#parts.stopLimits))
    if (this.#slots.get(name) === slot) this.#slots.delete(name)
  }

  /** Stops everything; nothing starts any more. Desired states stay as they are. */
  async close(limits: StopLimits): Promise<void> {
    this.#closing = true
    await Promise.all([...this.#slots].map(([name, slot]) => this.#enqueue(slot, () => this.#stop(slot, name, limits))))
  }

  async #apply(slot: Slot, worker: StoredWorker): Promise<Observed> {
    const { name } = worker.record
    const seen = slot.observed
    const step = this.#closing ? 'none' : plan({ ...seenOf(worker), run: worker.desired.state === 'running' }, seen)
    if (step === 'stop' || step === 'restart') await this.#stop(slot, name, this.#parts.stopLimits)
    if (step === 'start' || step === 'restart') return this.#start(slot, worker)
    if (seen === undefined || seen.id !== worker.id || seen.generation < worker.generation) {
      slot.observed = { ...seenOf(worker), state: slot.observed?.state ?? 'stopped' }
    }
    return slot.observed as Observed
  }

  async #start(slot: Slot, worker: StoredWorker): Promise<Observed> {
    const { record } = worker
    const { hooks, log, processors } = this.#parts
    const seen = seenOf(worker)
    slot.observed = { ...seen, state: 'starting' }
    let failedState: WorkerState = 'FAILED'
    try {
      if (hooks.beforeWorkerStart.active) {
        const verdict = await hooks.beforeWorkerStart.call(record.name)
        if (verdict.denied) {
          failedState = 'stopped'
          throw workerErrors.WORKER_START_DENIED(record.name, verdict.plugin, verdict.reason)
        }
      }
      const processor = await processors.load(record)
      slot.consumer = await Consumer.open(record, processor, slot.counters, this.#parts)
      slot.observed = { ...seen, state: 'running' }
    } catch (error) {
      log.warn({ worker: record.name, err: error }, `worker "${record.name}" did not start: ${messageOf(error)}`)
      slot.observed = { ...seen, state: failedState, error: error instanceof Error ? error : new Error(String(error)) }
      return slot.observed
    }
    log.info({ worker: record.name, queue: record.queueName, concurrency: record.concurrency }, `worker "${record.name}" runs`)
    if (hooks.onWorkerStart.active) await hooks.onWorkerStart.call(record.name)
    return slot.observed
  }

  async #stop(slot: Slot, name: string, limits: StopLimits): Promise<void> {
    const { consumer, observed } = slot
    if (observed === undefined) return
    const { error: _, ...seen } = observed
    if (consumer === undefined) {
      slot.observed = { ...seen, state: 'stopped' }
      return
    }
    const { hooks, log } = this.#parts
    slot.observed = { ...seen, state: 'stopping' }
    await consumer.close(limits)
    slot.consumer = undefined
    slot.observed = { ...seen, state: 'stopped' }
    log.info({ worker: name }, `worker "${name}" stopped`)
    if (hooks.onWorkerStop.active) await hooks.onWorkerStop.call(name)
  }

  #enqueue<T>(slot: Slot, step: () => Promise<T>): Promise<T> {
    const done = slot.tail.then(step)
    slot.tail = done.catch(() => undefined)
    return done
  }

  #slotOf(name: string): Slot {
    const known = this.#slots.get(name)
    if (known !== undefined) return known
    const slot: Slot = { observed: undefined, consumer: undefined, tail: Promise.resolve(), counters: new Counters() }
    this.#slots.set(name, slot)
    return slot
  }
}

function seenOf(worker: StoredWorker): Omit<Seen, 'state'> {
  return { id: worker.id, generation: worker.generation, restarts: worker.desired.restarts }
}
