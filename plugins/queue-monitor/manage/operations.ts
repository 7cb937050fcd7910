import { randomUUID } from 'node:crypto'
import { type Clock, type Logger, type Manage, messageOf } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { Actor } from 'zin/plugins/ops'
import type { Queues } from 'zin/plugins/queues'
import { demand, type Scope } from '../access/scope.js'
import type { JobDetails } from '../contract.js'
import { monitorErrors } from '../errors.js'
import { detailsOf } from '../jobs/details.js'
import { existingQueue } from '../jobs/find.js'
import type { JobActions } from './actions.js'
import { countSelected, runBulk } from './bulk.js'
import { type BulkAction, type JobFilter, type Selection, selectionOf } from './filter.js'

/** An operation on many jobs. */
export interface BulkOperation {
  readonly id: string
  readonly action: BulkAction
  readonly queue: string
  readonly filter: JobFilter
  /** `interrupted`: its process has ended; what it had done stays done. */
  readonly state: 'running' | 'completed' | 'cancelled' | 'failed' | 'interrupted'
  /** Jobs in the states of the filter when it began. */
  readonly total: number
  readonly looked: number
  readonly changed: number
  readonly error: string | null
  readonly actor: Actor
  /** ISO 8601. */
  readonly startedAt: string
  readonly updatedAt: string
}

/** What an operation would do. */
export interface DryRun {
  readonly dryRun: true
  readonly matching: number
  /** False: more than 10,000 jobs would have to be read; `matching` counts those that were. */
  readonly complete: boolean
  /** At most ten. */
  readonly sample: readonly JobDetails[]
  readonly message: string
}

export interface BulkRequest extends JobFilter {
  readonly dryRun?: boolean
  /** The name of the queue, for a purge of `all`. */
  readonly confirm?: string
}

export interface OperationsOptions {
  readonly queues: Queues
  readonly kv: Kv
  readonly actions: JobActions
  readonly clock: Clock
  readonly log: Logger
  readonly manage: Manage
}

const mostRunning = 4
const keptMs = 86_400_000
const savedEveryMs = 500
/** A running operation that was not saved for this long has lost its process. */
const lostMs = 30_000
const keyOf = (id: string): string => `monitor:operation:${id}`
const cancelKeyOf = (id: string): string => `monitor:operation-cancel:${id}`

interface Running {
  current: BulkOperation
  cancelled: boolean
  readonly ended: Promise<void>
}

/** Operations on many jobs, run by the process that received them and seen from all. */
export class Operations {
  readonly #options: OperationsOptions
  readonly #running = new Map<string, Running>()

  constructor(options: OperationsOptions) {
    this.#options = options
  }

  /** Counts what an operation would act on, or starts it and waits up to `waitMs` for its end. */
  async start(
    action: BulkAction,
    queue: string,
    { confirm, dryRun = false, ...filter }: BulkRequest,
    scope: Scope,
    waitMs: number,
  ): Promise<DryRun | BulkOperation> {
    demand(scope, action === 'purge' ? 'admin' : 'write')
    const { clock, queues } = this.#options
    await existingQueue(queues, queue, scope)
    const selection = selectionOf(action, filter, clock.now())
    if (dryRun) return this.#count(queue, selection)
    if (action === 'purge' && filter.status === 'all' && confirm !== queue) throw monitorErrors.CONFIRMATION_REQUIRED(queue)
    if (this.#running.size >= mostRunning) throw monitorErrors.TOO_MANY_OPERATIONS(mostRunning)
    const counts = await queues.counts(queue)
    const now = new Date(clock.now()).toISOString()
    const operation: BulkOperation = {
      id: randomUUID(),
      action,
      queue,
      filter,
      state: 'running',
      total: selection.states.reduce((sum, state) => sum + counts[state], 0),
      looked: 0,
      changed: 0,
      error: null,
      actor: scope.actor,
      startedAt: now,
      updatedAt: now,
    }
    const target = `queue:${queue}`
    const { actor } = scope
    await this.#options.manage({ action: `jobs.${action}`, target, actor, after: operation.filter }, () => this.#save(operation))
    const running: Running = { current: operation, cancelled: false, ended: Promise.resolve() }
    this.#running.set(operation.id, running)
    const ended = this.#run(running, selection, scope)
    Object.assign(running, { ended })
    await soon(ended, waitMs)
    return running.current
  }

  /** 404 QUEUE_OPERATION_NOT_FOUND. */
  async get(id: string, scope: Scope): Promise<BulkOperation> {
    const text = this.#running.has(id) ? null : await this.#options.kv.get(keyOf(id))
    const found = this.#running.get(id)?.current ?? (text === null ? undefined : (JSON.parse(text) as BulkOperation))
    if (found === undefined || !scope.sees(found.queue)) throw monitorErrors.QUEUE_OPERATION_NOT_FOUND(id)
    const isLost = found.state === 'running' && this.#options.clock.now() - Date.parse(found.updatedAt) > lostMs
    return isLost ? { ...found, state: 'interrupted' } : found
  }

  /** Ends it after its current step, in whatever process it runs. */
  async cancel(id: string, scope: Scope): Promise<BulkOperation> {
    demand(scope, 'write')
    const operation = await this.get(id, scope)
    if (operation.state !== 'running') return operation
    const running = this.#running.get(id)
    if (running === undefined) await this.#options.kv.set(cancelKeyOf(id), '1', { ttlMs: keptMs })
    else {
      running.cancelled = true
      await soon(running.ended, 2_000)
    }
    return this.get(id, scope)
  }

  /** Ends all operations of this process. */
  async close(): Promise<void> {
    for (const running of this.#running.values()) running.cancelled = true
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
  }

  async #count(queue: string, selection: Selection): Promise<DryRun> {
    const { complete, matching, sample } = await countSelected(this.#options.queues, queue, selection)
    const message = matching === 0 ? 'No job matches' : `${complete ? '' : 'At least '}${matching} jobs match`
    return { dryRun: true, matching, complete, sample: sample.map(({ job, state }) => detailsOf(job, state)), message }
  }

  async #run(running: Running, selection: Selection, scope: Scope): Promise<void> {
    const { actions, clock, log, queues } = this.#options
    const { action, id, queue } = running.current
    const set = (changes: Partial<BulkOperation>): void => {
      running.current = { ...running.current, ...changes, updatedAt: new Date(clock.now()).toISOString() }
    }
    let savedAt = clock.monotonic()
    try {
      await runBulk({
        queues,
        queue,
        action,
        selection,
        now: () => clock.now(),
        apply: (job) => this.#apply(action, job, scope),
        onStep: async ({ changed, looked }) => {
          const { current } = running
          set({ looked: current.looked + looked, changed: current.changed + changed })
          if (clock.monotonic() - savedAt >= savedEveryMs) {
            savedAt = clock.monotonic()
            await this.#save(running.current)
            if ((await this.#options.kv.get(cancelKeyOf(id))) !== null) running.cancelled = true
          }
          return !running.cancelled
        },
      })
      set({ state: running.cancelled ? 'cancelled' : 'completed' })
    } catch (error) {
      log.warn({ err: error, operation: id }, `operation ${action} on queue "${queue}" failed: ${messageOf(error)}`)
      set({ state: 'failed', error: messageOf(error) })
    }
    await this.#save(running.current).catch((error: unknown) => log.warn({ err: error }, 'the end of an operation was not stored'))
    await actions.report({ action, queue, jobs: running.current.changed, actor: scope.actor })
    this.#running.delete(id)
  }

  /** False when the job cannot be changed any more, or a plugin refuses it. */
  async #apply(action: BulkAction, job: Parameters<JobActions['retryJob']>[0], { actor }: Scope): Promise<boolean> {
    const { actions, queues } = this.#options
    try {
      if (action === 'retry') await actions.retryJob(job)
      else if (action === 'purge') await job.remove()
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

  async #save(operation: BulkOperation): Promise<void> {
    await this.#options.kv.set(keyOf(operation.id), JSON.stringify(operation), { ttlMs: keptMs })
  }
}

/** Resolves when the work has ended, or the time is up. */
async function soon(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
