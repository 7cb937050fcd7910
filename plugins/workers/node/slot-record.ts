import type { CheckReport } from '../health/check.js'
import type { NodeStatus, StatusError, WorkerState } from '../shared/contract.js'
import type { Goal, Seen } from './plan.js'
import { statusError } from './status-error.js'

/** What went wrong, and which generation asked for it. */
interface Fault {
  readonly error: unknown
  readonly generation: number
  /** See StatusError. */
  readonly version?: string
}

/** What a process last did for a worker, and what went wrong, as the next steps and other processes have to know it. */
export class SlotRecord {
  /** Whether the placement chose this process. */
  placed = false
  #seen: Seen | undefined
  /** Why the last step failed. */
  #fault: Fault | undefined
  #check: CheckReport | undefined

  /** Undefined before the first step. */
  get seen(): Seen | undefined {
    return this.#seen
  }

  get state(): WorkerState {
    return this.#seen?.state ?? 'stopped'
  }

  /** It is on its way to a goal, which counts as applied only when it has settled. */
  note(goal: Goal, state: WorkerState, gaveUp = false): void {
    const { generation = 0, refused } = this.#seen ?? {}
    this.#seen = { ...goal, generation, state, gaveUp, ...(refused === undefined ? {} : { refused }) }
  }

  /** A version that was refused is no fault any more once something was activated. */
  aim({ activation }: Goal): void {
    if (this.#fault?.version !== undefined && this.#seen?.activation !== activation) this.forgive()
  }

  /** It has done what a goal asks for, or failed to. */
  settle(goal: Goal): void {
    this.note(goal, this.state, this.#seen?.gaveUp)
    this.#change({ generation: goal.generation })
  }

  /** It is in another state, whatever the goal. */
  enter(state: WorkerState, gaveUp?: boolean): void {
    this.#change({ state, ...(gaveUp === undefined ? {} : { gaveUp }) })
  }

  /** The version cannot run here; it is not tried again before it is activated anew. */
  refuse({ activation, generation, version }: Goal, error: unknown): void {
    this.#fault = { error, generation, version }
    this.#change({ refused: activation })
  }

  blame(error: unknown, generation = this.#seen?.generation ?? 0): void {
    this.#fault = { error, generation }
  }

  forgive(): void {
    this.#fault = undefined
  }

  /** The outcome of the last health check; undefined: none counts any more. */
  noteCheck(report: CheckReport | undefined): void {
    this.#check = report
  }

  /** As others are told; undefined before the first step. */
  get status(): Pick<NodeStatus, 'generation' | 'state' | 'placed' | 'concurrency' | 'error' | 'check'> | undefined {
    if (this.#seen === undefined) return undefined
    const { generation, state, concurrency } = this.#seen
    return {
      generation,
      state,
      placed: this.placed,
      concurrency,
      ...(this.#fault === undefined ? {} : { error: faultStatus(this.#fault) }),
      ...(this.#check === undefined ? {} : { check: this.#check }),
    }
  }

  #change(changes: Partial<Seen>): void {
    if (this.#seen !== undefined) this.#seen = { ...this.#seen, ...changes }
  }
}

function faultStatus({ error, ...fault }: Fault): StatusError {
  return { ...statusError(error), ...fault }
}
