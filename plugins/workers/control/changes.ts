import { type Logger, requestContext } from 'zin'
import type { Actor, Ops } from 'zin/plugins/ops'
import { workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'
import type { WorkerAction, WorkerActions, WorkerChange } from './change.js'

export interface ChangesParts {
  readonly hooks: Pick<HookSlots, 'beforeWorkerChange' | 'onWorkerChange' | 'onWorkerChangeFailed'>
  readonly ops: Pick<Ops, 'actor'>
  readonly log: Logger
}

export interface Asked<Action extends WorkerAction> {
  readonly action: Action
  readonly worker: string
  readonly target?: string | undefined
  /** Default: who makes the request; outside of requests, the app. */
  readonly actor: Actor | undefined
}

export interface Subjects<Subject> {
  readonly before: Subject | null
  readonly after: Subject | null
}

/** Makes the subjects, which is only done for those who listen. */
type MakeSubjects<Subject> = () => Subjects<Subject>

/** What an action has to call while it is done. */
export interface ChangeStep<Subject> {
  /** Whether anybody listens; what the subjects need has to be read only then. */
  readonly active: boolean
  /** Before anything is written. Throws WORKER_CHANGE_DENIED (409) or WORKER_CHANGE_FORBIDDEN (403). */
  allow(subjects: MakeSubjects<Subject>): Promise<void>
  /** As soon as it is written, whatever comes after. */
  done(subjects: MakeSubjects<Subject>): void
}

/** Code that did not say which plugin it is: see `Workers.as`. */
const app: Actor = { kind: 'plugin', id: 'app', via: 'plugin' }

/** The one way of every management action: plugins may refuse it before it is done, and hear of it before its caller does. */
export class Changes {
  readonly #parts: ChangesParts
  #lastId = 0

  constructor(parts: ChangesParts) {
    this.#parts = parts
  }

  /** Does `work`, and ends when those who listen have heard of what it did, or that it was refused or failed before it did anything. */
  async run<Action extends WorkerAction, T>(
    asked: Asked<Action>,
    work: (step: ChangeStep<WorkerActions[Action]>) => Promise<T>,
  ): Promise<T> {
    const { beforeWorkerChange, onWorkerChange } = this.#parts.hooks
    const told: Promise<void>[] = []
    let id: number | undefined
    let open: WorkerChange | undefined
    const changeOf = (subjects: Subjects<WorkerActions[Action]>): WorkerChange => {
      id ??= ++this.#lastId
      return this.#changeOf(id, asked, subjects)
    }
    try {
      const result = await work({
        active: beforeWorkerChange.active || onWorkerChange.active,
        allow: async (subjects) => {
          if (!beforeWorkerChange.active) return
          open = changeOf(subjects())
          await this.#demandLeave(open)
        },
        done: (subjects) => {
          open = undefined
          if (onWorkerChange.active) told.push(this.#tell(changeOf(subjects())))
        },
      })
      // Somebody else has done the same meanwhile.
      if (open !== undefined) told.push(this.#tellFailed(open, workerErrors.WORKER_CHANGED(asked.worker)))
      return result
    } catch (error) {
      if (open !== undefined) told.push(this.#tellFailed(open, error instanceof Error ? error : new Error(String(error))))
      throw error
    } finally {
      await Promise.all(told)
    }
  }

  #changeOf<Action extends WorkerAction>(
    id: number,
    { action, worker, target, actor }: Asked<Action>,
    subjects: Subjects<WorkerActions[Action]>,
  ): WorkerChange {
    const requestId = requestContext()?.requestId
    const change = {
      id,
      action,
      worker,
      ...(target === undefined ? {} : { target }),
      // Listeners get copies: what they do to them changes nothing here.
      ...structuredClone(subjects),
      actor: actor ?? this.#parts.ops.actor() ?? app,
      ...(requestId === undefined ? {} : { requestId }),
    }
    return change as unknown as WorkerChange
  }

  async #demandLeave(change: WorkerChange): Promise<void> {
    const verdict = await this.#parts.hooks.beforeWorkerChange.call(change)
    if (!verdict.denied) return
    if (verdict.error !== undefined) throw verdict.error
    const { action, worker } = change
    const refusal = verdict.status === 403 ? workerErrors.WORKER_CHANGE_FORBIDDEN : workerErrors.WORKER_CHANGE_DENIED
    throw refusal(action, worker, verdict.plugin, verdict.reason)
  }

  async #tell(change: WorkerChange): Promise<void> {
    this.#logDeaf(change, await this.#parts.hooks.onWorkerChange.call(change))
  }

  async #tellFailed(change: WorkerChange, error: Error): Promise<void> {
    this.#logDeaf(change, await this.#parts.hooks.onWorkerChangeFailed.call(change, error))
  }

  #logDeaf({ action, worker }: WorkerChange, failures: readonly { readonly plugin: string; readonly error: Error }[]): void {
    for (const { plugin, error } of failures) {
      this.#parts.log.error(
        { plugin, action, worker, err: error },
        `plugin "${plugin}" did not take note of "${action}" of worker "${worker}"`,
      )
    }
  }
}
