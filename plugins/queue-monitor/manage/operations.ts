import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import { type Clock, countText, type Logger, type Manage, messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { demandFlow } from '../access/flow.js'
import { demand, type Scope } from '../access/scope.js'
import type { JobDetails } from '../contract.js'
import { monitorErrors } from '../errors.js'
import { existingQueue, findJob } from '../jobs/find.js'
import type { PayloadViews } from '../jobs/payloads.js'
import type { JobActions } from './actions.js'
import { type Applied, type BulkStep, countSelected, runBulk } from './bulk.js'
import { type BulkAction, type JobFilter, selectionOf, statesOfCounts } from './filter.js'
import { type FlowDryRun, flowDryRun, nameOf, planFlow, retryFlow } from './flow-retry.js'
import type { BulkOperation, OperationStore } from './operation.js'
import { checkUndo, foreseen, undoMs, undoSlackMs, windowOf } from './undo.js'

/** The result of a dry run. */
export interface DryRun {
  readonly dryRun: true
  /** Jobs that would be changed. */
  readonly matching: number
  /** Jobs that match and would be skipped. */
  readonly left: number
  /** Always true. */
  readonly complete: boolean
  /** At most ten. */
  readonly sample: readonly JobDetails[]
  /** For a purge: how many of them could be restored. */
  readonly restorable?: number
  /** For a purge: how many of them would be permanently deleted. */
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
    const flows = scope.queues === '*'
    if (dryRun) return this.#count({ action, queue, selection, flows, undoable: action === 'purge' && !now }, scope)
    if (action === 'purge' && filter.status === 'all' && confirm !== queue) throw monitorErrors.CONFIRMATION_REQUIRED(queue)
    const counts = await queues.counts(queue)
    const id = randomUUID()
    const undo = action === 'purge' && !now ? windowOf(id, clock.now()) : null
    const total = selection.states.reduce((sum, state) => sum + counts[statesOfCounts[state]], 0)
    const operation = store.begun({ id, action, queue, filter, total, undo, actor: scope.actor })
    return this.#start(operation, scope, waitMs, (onStep) =>
      runBulk({
        queues,
        queue,
        action,
        selection,
        ...(undo === null ? {} : { undo: { batch: id, ms: undoMs + undoSlackMs } }),
        flows,
        apply: (job) => this.#apply(action, job, scope),
        onStep,
      }),
    )
  }

  /**
   * Makes all failed jobs of the flow of a job wait again, leaves first: each parent waits for those below it. 404 JOB_NOT_FOUND,
   * 403 MONITOR_FORBIDDEN, JOB_ACTION_DENIED.
   */
  async retryFlow(
    id: string,
    queue: string | undefined,
    { dryRun = false }: { readonly dryRun?: boolean },
    scope: Scope,
    waitMs: number,
  ): Promise<FlowDryRun | BulkOperation> {
    demand(scope, 'write')
    const { actions, queues, store } = this.#options
    const { job } = await findJob(queues, id, queue, scope)
    await demandFlow(queues, job, scope)
    const plan = await planFlow(queues, job)
    const total = plan.failed.length
    if (dryRun) return flowDryRun(plan)
    for (const one of plan.failed) await actions.allowRetry(one)
    const { root } = plan
    const facts = { id: randomUUID(), action: 'flow.retry', queue: root.queueName, filter: {}, flow: nameOf(root) } as const
    const operation = store.begun({ ...facts, total, undo: null, actor: scope.actor })
    return this.#start(operation, scope, waitMs, (onStep) => retryFlow(queues, plan, onStep))
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
    const { final: lost, jobs } = checkUndo(undone, clock.now())
    const { queue } = undone
    const facts = { id: randomUUID(), action: 'undo', queue, filter: {}, total: jobs + lost, lost } as const
    const operation = store.begun({ ...facts, undo: null, actor: scope.actor })
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

  async #count(of: Omit<Parameters<typeof countSelected>[0], 'queues'>, scope: Scope): Promise<DryRun> {
    const { queues, views } = this.#options
    const { complete, left, matching, restorable, sample } = await countSelected({ ...of, queues })
    const list = views.lister(scope)
    const jobs = await Promise.all(sample.map(({ job, state }) => list(job, state)))
    const counted = { dryRun: true, matching, left, complete, sample: jobs } as const
    const why = of.action === 'retry' ? 'a child that they need no longer exists' : 'a flow or schedule depends on them'
    const skipped = [
      ...(left === 0 ? [] : [`${left} more would be skipped: ${why}`]),
      ...(complete
        ? []
        : ['There are too many failed jobs to check for each whether a child that it needs still exists: further ones may be skipped']),
    ]
    if (!of.undoable || matching === 0) {
      return { ...counted, message: [matching === 0 ? 'No jobs match' : matchText(matching), ...skipped].join('. ') }
    }
    const { final, message } = foreseen(matching, restorable)
    return { ...counted, restorable, final, message: [matchText(matching), message, ...skipped].join('. ') }
  }

  /** Runs the management hooks, then the work in the background. 429 TOO_MANY_OPERATIONS. */
  async #start(operation: BulkOperation, scope: Scope, waitMs: number, work: (onStep: OnStep) => Promise<void>): Promise<BulkOperation> {
    const { manage, store } = this.#options
    const { action, filter, flow, id, queue } = operation
    if (this.#running.size + this.#starting >= mostRunning) throw monitorErrors.TOO_MANY_OPERATIONS(mostRunning)
    const target = flow === undefined ? `queue:${queue}` : `job:${flow.replace(':', '/')}`
    const asked = { action: `jobs.${action}`, target, actor: scope.actor, after: filter }
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

  async #apply(action: BulkAction, job: Job, scope: Scope): Promise<Applied> {
    const { actions, queues } = this.#options
    const { actor } = scope
    const { id = '', queueName: queue } = job
    try {
      await demandFlow(queues, job, scope)
      if (action === 'cancel') {
        const { below = [], outcome } = await queues.cancel(queue, id, `by ${actor.kind} ${actor.id}`)
        if (outcome === 'scheduled') return { outcome: 'left' }
        return outcome === 'unknown' || outcome === 'finished' ? { outcome: 'gone' } : { outcome: 'changed', others: below }
      }
      if (action === 'retry') await actions.allowRetry(job)
      const { jobs, refused } = await (action === 'retry' ? queues.retry(queue, id) : queues.remove(queue, id))
      if (jobs === undefined) return { outcome: refused === 'changed' ? 'gone' : 'left' }
      return { outcome: 'changed', others: jobs.slice(1) }
    } catch (error) {
      if (queues.isUnavailable(error)) throw error
      return { outcome: 'left' }
    }
  }
}

/** Adds the result of a step to an operation. */
function added({ changed, left, looked, related = 0, undo }: BulkOperation, step: BulkStep): Partial<BulkOperation> {
  const restorable = step.restorable ?? 0
  return {
    looked: looked + step.looked,
    changed: changed + step.changed,
    left: left + (step.left ?? 0),
    ...(step.related ? { related: related + step.related } : {}),
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

function matchText(matching: number): string {
  return `${countText(matching, 'job')} ${matching === 1 ? 'matches' : 'match'}`
}
