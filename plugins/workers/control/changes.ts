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
  /** Default: the caller of the current request; outside of requests, the app. */
  readonly actor: Actor | undefined
}

export interface Subjects<Subject> {
  readonly before: Subject | null
  readonly after: Subject | null
}

/** Creates the subjects; called only when a hook has listeners. */
type MakeSubjects<Subject> = () => Subjects<Subject>

/** What an action must call while it runs. */
export interface ChangeStep<Subject> {
  /** Whether a hook has listeners. If not, the action need not read what only the subjects require. */
  readonly active: boolean
  /** Who requested the action. */
  readonly actor: Actor
  /** Called before anything is written. Throws WORKER_CHANGE_DENIED (409) or WORKER_CHANGE_FORBIDDEN (403). */
  allow(subjects: MakeSubjects<Subject>): Promise<void>
  /** Called as soon as the change is written, even if the action fails afterwards. */
  done(subjects: MakeSubjects<Subject>): void
}

/** The actor of code that did not name its plugin: see `Workers.as`. */
export const theApp: Actor = { kind: 'plugin', id: 'app', via: 'plugin' }

/** Runs every management action: plugins can deny it beforehand, and are notified of it before its caller gets the response. */
export class Changes {
  readonly #parts: ChangesParts
  #lastId = 0

  constructor(parts: ChangesParts) {
    this.#parts = parts
  }

  /** Runs `work`, and ends when the listeners have handled the change, or the refusal or failure of an action that changed nothing. */
  async run<Action extends WorkerAction, T>(
    asked: Asked<Action>,
    work: (step: ChangeStep<WorkerActions[Action]>) => Promise<T>,
  ): Promise<T> {
    const { beforeWorkerChange, onWorkerChange } = this.#parts.hooks
    const notified: Promise<void>[] = []
    let id: number | undefined
    let open: WorkerChange | undefined
    const changeOf = (subjects: Subjects<WorkerActions[Action]>): WorkerChange => {
      id ??= ++this.#lastId
      return this.#changeOf(id, asked, subjects)
    }
    try {
      const result = await work({
        active: beforeWorkerChange.active || onWorkerChange.active,
        actor: this.#actorOf(asked),
        allow: async (subjects) => {
          if (!beforeWorkerChange.active) return
          open = changeOf(subjects())
          await this.#demandPermission(open)
        },
        done: (subjects) => {
          open = undefined
          if (onWorkerChange.active) notified.push(this.#notify(changeOf(subjects())))
        },
      })
      // Another caller has made the same change in the meantime.
      if (open !== undefined) notified.push(this.#notifyFailed(open, workerErrors.WORKER_CHANGED(asked.worker)))
      return result
    } catch (error) {
      if (open !== undefined) notified.push(this.#notifyFailed(open, error instanceof Error ? error : new Error(String(error))))
      throw error
    } finally {
      await Promise.all(notified)
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
      // Listeners get copies, so that they cannot modify the change.
      ...structuredClone(subjects),
      actor: this.#actorOf({ actor }),
      ...(requestId === undefined ? {} : { requestId }),
    }
    return change as unknown as WorkerChange
  }

  #actorOf({ actor }: Pick<Asked<WorkerAction>, 'actor'>): Actor {
    return actor ?? this.#parts.ops.actor() ?? theApp
  }

  async #demandPermission(change: WorkerChange): Promise<void> {
    const verdict = await this.#parts.hooks.beforeWorkerChange.call(change)
    if (!verdict.denied) return
    if (verdict.error !== undefined) throw verdict.error
    const { action, worker } = change
    const refusal = verdict.status === 403 ? workerErrors.WORKER_CHANGE_FORBIDDEN : workerErrors.WORKER_CHANGE_DENIED
    throw refusal(action, worker, verdict.plugin, verdict.reason)
  }

  async #notify(change: WorkerChange): Promise<void> {
    this.#logFailures(change, await this.#parts.hooks.onWorkerChange.call(change))
  }

  async #notifyFailed(change: WorkerChange, error: Error): Promise<void> {
    this.#logFailures(change, await this.#parts.hooks.onWorkerChangeFailed.call(change, error))
  }

  #logFailures({ action, worker }: WorkerChange, failures: readonly { readonly plugin: string; readonly error: Error }[]): void {
    for (const { plugin, error } of failures) {
      this.#parts.log.error(
        { plugin, action, worker, err: error },
        `a change listener of plugin "${plugin}" failed for "${action}" of worker "${worker}"`,
      )
    }
  }
}
