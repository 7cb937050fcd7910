import type { Circuit } from './circuit.js'
import type { BreakerRules } from './rules.js'
import type { Circuits } from './shared-circuits.js'
import { Window } from './window.js'

/** Most names of jobs that have a circuit of their own; further ones share the one without a name. */
const mostNames = 100

/** What this process knows of one worker with a circuit breaker. */
export class Guard {
  readonly worker: string
  rules: BreakerRules
  /** As last read. */
  circuits: Circuits = {}
  /** Grows when the circuits are set, so that a read that began earlier is not applied. */
  revision = 0
  /** Circuits that this process is opening right now. */
  readonly opening = new Set<string>()
  /** Jobs that run here as probes, with the key of their circuit. */
  readonly probes = new Map<string, string>()
  readonly #windows = new Map<string, Window>()

  constructor(worker: string, rules: BreakerRules) {
    this.worker = worker
    this.rules = rules
  }

  /** The key of the circuit that a job belongs to; empty: the one of the worker. */
  keyOf(jobName: string): string {
    if (!this.rules.perJobName || this.#windows.has(jobName) || Object.hasOwn(this.circuits, jobName)) {
      return this.rules.perJobName ? jobName : ''
    }
    return this.#windows.size < mostNames ? jobName : ''
  }

  circuitOf(key: string): Circuit | undefined {
    return Object.hasOwn(this.circuits, key) ? this.circuits[key] : undefined
  }

  windowOf(key: string): Window {
    const window = this.#windows.get(key) ?? new Window()
    this.#windows.set(key, window)
    return window
  }

  /** What was seen before a circuit opened or closed does not count afterwards. */
  set(circuits: Circuits): void {
    const keys = new Set([...Object.keys(circuits), ...Object.keys(this.circuits)])
    for (const key of keys) if (Object.hasOwn(circuits, key) !== Object.hasOwn(this.circuits, key)) this.#windows.delete(key)
    this.circuits = circuits
    this.revision++
  }
}
