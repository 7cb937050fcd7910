import type { Circuit } from './circuit.js'
import type { BreakerRules } from './rules.js'
import type { Circuits } from './shared-circuits.js'
import { Window } from './window.js'

/** Maximum number of job names with their own circuit; further names share the unnamed circuit. */
const mostNames = 100

/** State of one worker with a circuit breaker in this process. */
export class Guard {
  readonly worker: string
  rules: BreakerRules
  /** Circuits as last read. */
  circuits: Circuits = {}
  /** Incremented when the circuits are set, so that a read that began earlier is discarded. */
  revision = 0
  /** Circuits that this process is currently opening. */
  readonly opening = new Set<string>()
  /** Probes running in this process, with the key of their circuit. */
  readonly probes = new Map<string, string>()
  readonly #windows = new Map<string, Window>()

  constructor(worker: string, rules: BreakerRules) {
    this.worker = worker
    this.rules = rules
  }

  /** Returns the key of the circuit of a job; empty for the circuit of the worker. */
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

  /** Sets the circuits. Discards the window of each circuit that opened or closed. */
  set(circuits: Circuits): void {
    const keys = new Set([...Object.keys(circuits), ...Object.keys(this.circuits)])
    for (const key of keys) if (Object.hasOwn(circuits, key) !== Object.hasOwn(this.circuits, key)) this.#windows.delete(key)
    this.circuits = circuits
    this.revision++
  }
}
