import { randomUUID } from 'node:crypto'
import { type Clock, type Logger, type Manage, messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { demandFlow } from '../access/flow.js'
import { demand, type Scope } from '../access/scope.js'
import type { JobDetails } from '../contract.js'
import { monitorErrors } from '../errors.js'
import { existingQueue } from '../jobs/find.js'
import type { PayloadViews } from '../jobs/payloads.js'
import type { JobActions } from './actions.js'
import { type BulkStep, countSelected, runBulk } from './bulk.js'
import { type BulkAction, type JobFilter, type Selection, selectionOf } from './filter.js'
import type { BulkOperation, OperationStore } from './operation.js'
import { checkUndo, foreseen, undoMs, undoSlackMs, windowOf } from './undo.js'

/** The result of a dry run. */
export interface DryRun {
  readonly dryRun: true
  readonly matching: number
  /** False if more than 10,000 jobs would have to be read; `matching` then counts only the ones that were. */
  readonly complete: boolean
  /** At most ten. */
  readonly sample: readonly JobDetails[]
  /** For a purge: estimated number of jobs that would be permanently deleted and could not be restored. */
  readonly final?: number
  readonly message: string
}

export interface BulkRequest extends JobFilter {
  readonly dryRun?: boolean
  /** The queue name; required for a purge of `all`. */
  readonly confirm?: string
}

export interface StartOptions {
  /** How long to wait for completion, in ms. */
  readonly waitMs: number
  /** For a purge: delete permanently. */
  readonly now?: boolean
}

export interface OperationsOptions {
  readonly queues: Queues
  readonly views: PayloadViews
  readonly store: OperationStore
  readonly actions: JobActions
  readonly clock: Clock
  readonly log: Logger
  readonly manage: Manage
}

const mostRunning = 4
const savedEveryMs = 500

interface Running {
  current: BulkOperation
  cancelled: boolean
  readonly ended: Promise<void>
}

/** Called after each step; resolves to false to end the work. */
type OnStep = (step: BulkStep) => Promise<boolean>

/** Operations on many jobs. They run in the process that received the request and are visible in all processes. */
export class Operations {
  readonly #options: OperationsOptions
  readonly #running = new Map<string, Running>()
  /** Operations between the check of the limit and their start. */
  #starting = 0

  constructor(options: OperationsOptions) {
    this.#options = options
  }

  /** Runs a dry run, or starts an operation and waits up to `waitMs` for its end. */
  async start(
    action: BulkAction,
    queue: string,
    { confirm, dryRun = false, ...filter }: BulkRequest,
    scope: Scope,
    { now = false, waitMs }: StartOptions,
  ): Promise<DryRun | BulkOperation> {
    demand(scope, action === 'purge' ? 'admin' : 'write')
    const { clock, queues, store } = this.#options
    await existingQueue(queues, queue, scope)
    const selection = selectionOf(action, filter, clock.now())
    if (dryRun) return this.#count(queue, selection, action === 'purge' && !now, scope)
    if (action === 'purge' && filter.status === 'all' && confirm !== queue) throw monitorErrors.CONFIRMATION_REQUIRED(queue)
    const counts = await queues.counts(queue)
    const id = randomUUID()
    const undo = action === 'purge' && !now ? windowOf(id, clock.now()) : null
    const total = selection.states.reduce((sum, state) => sum + counts[state], 0)
    const operation = store.begun({ id, action, queue, filter, total, undo, actor: scope.actor })
    return this.#start(operation, scope, waitMs, (onStep) =>
      runBulk({
        queues,
        queue,
        action,
        selection,
        ...(undo === null ? {} : { undo: { batch: id, ms: undoMs + undoSlackMs } }),
        flows: scope.queues === '*',
        now: () => clock.now(),
        apply: (job) => this.#apply(action, job, scope),
        onStep,
      }),
    )
  }

  /**
   * Restores the jobs deleted by a delete or purge, as a new operation. 404 QUEUE_OPERATION_NOT_FOUND, 409 UNDO_NOT_POSSIBLE,
   * 410 UNDO_EXPIRED.
   */
  async undo(id: string, scope: Scope, waitMs: number): Promise<BulkOperation> {
    demand(scope, 'write')
    const { clock, queues, store } = this.#options
    const undone = await this.get(id, scope)
    if (undone.action === 'purge') demand(scope, 'admin')
    const { jobs } = checkUndo(undone, clock.now())
    const { queue } = undone
    const operation = store.begun({ id: randomUUID(), action: 'undo', queue, filter: {}, total: jobs, undo: null, actor: scope.actor })
    return this.#start(operation, scope, waitMs, async (onStep) => {
      for await (const { blocked, restored } of queues.restoreJobs(queue, id)) {
        if (!(await onStep({ looked: restored + blocked, changed: restored, left: blocked }))) return
      }
    })
  }

  /** Returns an operation of any process. 404 QUEUE_OPERATION_NOT_FOUND. */
  async get(id: string, scope: Scope): Promise<BulkOperation> {
    const { store } = this.#options
    const running = this.#running.get(id)?.current
    return running === undefined ? store.get(id, scope) : store.shown(running, id, scope)
  }

  /** Stops an operation after its current step, in whichever process runs it. */
  async cancel(id: string, scope: Scope): Promise<BulkOperation> {
    demand(scope, 'write')
    const operation = await this.get(id, scope)
    if (operation.state !== 'running') return operation
    const running = this.#running.get(id)
    if (running === undefined) await this.#options.store.askToCancel(id)
    else {
      running.cancelled = true
      await soon(running.ended, 2_000)
    }
    return this.get(id, scope)
  }

  /** Stops all operations of this process. */
  async close(): Promise<void> {
    for (const running of this.#running.values()) running.cancelled = true
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  async #count(queue: string, selection: Selection, undoable: boolean, scope: Scope): Promise<DryRun> {
    const { queues, views } = this.#options
    const { bytes, complete, matching, sample } = await countSelected(queues, queue, selection)
    const found = matching === 0 ? 'No jobs match' : `${complete ? '' : 'At least '}${matching} jobs match`
    const list = views.lister(scope)
    const jobs = await Promise.all(sample.map(({ job, state }) => list(job, state)))
    const counted = { dryRun: true, matching, complete, sample: jobs } as const
    if (!undoable || matching === 0) return { ...counted, message: found }
    const { final, message } = foreseen(matching, bytes, await queues.undoRoom(queue))
    return { ...counted, final, message: `${found}. ${message}` }
  }

  /** Runs the management hooks, then the work in the background. 429 TOO_MANY_OPERATIONS. */
  async #start(operation: BulkOperation, scope: Scope, waitMs: number, work: (onStep: OnStep) => Promise<void>): Promise<BulkOperation> {
    const { manage, store } = this.#options
    const { action, filter, id, queue } = operation
    if (this.#running.size + this.#starting >= mostRunning) throw monitorErrors.TOO_MANY_OPERATIONS(mostRunning)
    const asked = { action: `jobs.${action}`, target: `queue:${queue}`, actor: scope.actor, after: filter }
    this.#starting++
    try {
      await manage(asked, () => store.save(operation))
    } finally {
      this.#starting--
    }
    const running: Running = { current: operation, cancelled: false, ended: Promise.resolve() }
    this.#running.set(id, running)
    const ended = this.#run(running, work, scope)
    Object.assign(running, { ended })
    await soon(ended, waitMs)
    return running.current
  }

  async #run(running: Running, work: (onStep: OnStep) => Promise<void>, scope: Scope): Promise<void> {
    const { actions, clock, log, store } = this.#options
    const { action, id, queue } = running.current
    const set = (changes: Partial<BulkOperation>): void => {
      running.current = store.changed(running.current, changes)
    }
    let savedAt = clock.monotonic()
    try {
      await work(async (step) => {
        set(added(running.current, step))
        if (clock.monotonic() - savedAt >= savedEveryMs) {
          savedAt = clock.monotonic()
          await store.save(running.current)
          if (await store.isCancelled(id)) running.cancelled = true
        }
        return !running.cancelled
      })
      set({ state: running.cancelled ? 'cancelled' : 'completed' })
    } catch (error) {
      log.warn({ err: error, operation: id }, `operation ${action} on queue "${queue}" failed: ${messageOf(error)}`)
      set({ state: 'failed', error: messageOf(error) })
    }
    await store.save(running.current).catch((error: unknown) => log.warn({ err: error }, 'the result of an operation could not be stored'))
    await actions.report({ action, queue, jobs: running.current.changed, actor: scope.actor })
    this.#running.delete(id)
  }

  /** Returns false if the job can no longer be changed or a plugin denies it. */
  async #apply(action: BulkAction, job: Parameters<JobActions['retryJob']>[0], scope: Scope): Promise<boolean> {
    const { actions, queues } = this.#options
    const { actor } = scope
    try {
      await demandFlow(queues, job, scope)
      if (action === 'retry') await actions.retryJob(job)
      else if (action === 'purge') await queues.change(() => job.remove())
      else {
        const { outcome } = await queues.cancel(job.queueName, job.id ?? '', `by ${actor.kind} ${actor.id}`)
        return ['removed', 'failed', 'cancelled', 'orphaned'].includes(outcome)
      }
      return true
    } catch (error) {
      if (queues.isUnavailable(error)) throw error
      return false
    }
  }
}

/** Adds the result of a step to an operation. */
function added({ changed, left, looked, undo }: BulkOperation, step: BulkStep): Partial<BulkOperation> {
  const restorable = step.restorable ?? 0
  return {
    looked: looked + step.looked,
    changed: changed + step.changed,
    left: left + (step.left ?? 0),
    undo: undo === null ? null : { ...undo, jobs: undo.jobs + restorable, final: undo.final + step.changed - restorable },
  }
}

/** Resolves when the work has ended or the time is up. */
async function soon(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
