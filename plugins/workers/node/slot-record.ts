import { messageOf, ZinError } from 'zin'
import type { NodeStatus, StatusError, WorkerState } from '../cluster/cluster.js'
import type { CheckReport } from '../health/check.js'
import type { Goal, Seen } from './plan.js'
import { type Held, heldOf, isHeldBack, type Turn } from './rollout.js'

/** What a process last did for a worker, and what went wrong, as the next steps and other processes have to know it. */
export class SlotRecord {
  /** Whether the placement chose this process. */
  placed = false
  #seen: Seen | undefined
  #held: Held | undefined
  /** Why the last step failed, and the generation that asked for it. */
  #fault: { readonly error: unknown; readonly generation: number } | undefined
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
    this.#seen = { ...goal, generation, state, gaveUp, ...(refused?.starts === goal.starts ? { refused } : {}) }
  }

  /** It has done what a goal asks for, or failed to. */
  settle(goal: Goal, turn: Turn): void {
    this.note(goal, this.state, this.#seen?.gaveUp)
    this.#held = heldOf(goal, turn, this.#held)
    if (!isHeldBack(goal.generation, turn, this.#held)) this.#change({ generation: goal.generation })
  }

  /** It is in another state, whatever the goal. */
  enter(state: WorkerState, gaveUp?: boolean): void {
    this.#change({ state, ...(gaveUp === undefined ? {} : { gaveUp }) })
  }

  /** The version cannot run here; it is not tried again before it is activated or the worker started anew. */
  refuse({ version, starts, generation }: Goal, error: unknown): void {
    this.blame(error, generation)
    this.#change({ refused: { version, starts } })
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
      ...(this.#fault === undefined ? {} : { error: statusError(this.#fault.error, this.#fault.generation) }),
      ...(this.#check === undefined ? {} : { check: this.#check }),
    }
  }

  #change(changes: Partial<Seen>): void {
    if (this.#seen !== undefined) this.#seen = { ...this.#seen, ...changes }
  }
}

function statusError(error: unknown, generation: number): StatusError {
  const { code, status } = error instanceof ZinError ? error : { code: 'WORKER_FAILED', status: 500 }
  return { code, message: messageOf(error), status, generation }
}
