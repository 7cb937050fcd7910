import type { Job } from 'bullmq'
import { type ActionFacts, type Logger, type Manage, messageOf, type SlotOf } from 'zin'
import {
  bullPriority,
  type ChangedJob,
  type JobBackoff,
  type JobDeduplication,
  type JobOptions,
  type PriorityName,
  priorityOf,
  type Queues,
  queueErrors,
} from 'zin/plugins/queues'
import { demandFlow } from '../access/flow.js'
import { demand, type Scope } from '../access/scope.js'
import { monitorErrors } from '../errors.js'
import type { MonitorAction, QueueMonitorHooks } from '../hooks.js'
import { existingQueue, findJob } from '../jobs/find.js'
import type { PayloadViews } from '../jobs/payloads.js'
import { copiedOptions } from './copied-options.js'
import { retriedWith } from './flow-retry.js'

export interface ActionsOptions {
  readonly queues: Queues
  readonly views: PayloadViews
  readonly onMonitorAction: SlotOf<QueueMonitorHooks['onMonitorAction']>
  readonly log: Logger
  readonly manage: Manage
}

/** The result of an action on a job. */
export interface ActionResult {
  readonly ok: true
  readonly id: string
  readonly queue: string
  /** `retried`, `promoted`, `deleted`, or the outcome of a cancel. */
  readonly outcome: string
  /** Other jobs of its flow that were changed with it, as `<queue>:<id>`; absent if there are none. */
  readonly related?: readonly string[]
}

/** Options for a job added by an operator. */
export interface AskedOptions {
  /** Delay before it may run, in ms. */
  readonly delay?: number
  /** `Critical` (10) to `Low` (0); higher priorities run first. */
  readonly priority?: PriorityName | number
  readonly attempts?: number
  /** When a failed attempt is repeated. Default: at once; for a copy, that of the original. */
  readonly backoff?: JobBackoff
  readonly deduplication?: JobDeduplication
  /** With an id, adding the job again adds no second one while the first is kept. */
  readonly jobId?: string
}

export interface AskedJob {
  readonly name: string
  readonly data?: unknown
  readonly options?: AskedOptions
}

/** Changes of a copy relative to the original job. */
export type JobChanges = Partial<AskedJob>

/** An added job. */
export interface Added {
  readonly ok: true
  readonly id: string
  readonly queue: string
  /** Whether no job was added, because one with the same `jobId` or deduplication id exists: `id` is its id. */
  readonly deduplicated: boolean
}

/** Operator actions on single jobs and on queues. Each action is reported to the hook `onMonitorAction`. */
export class JobActions {
  readonly #options: ActionsOptions

  constructor(options: ActionsOptions) {
    this.#options = options
  }

  async retry(id: string, queue: string | undefined, scope: Scope): Promise<ActionResult> {
    demand(scope, 'write')
    const { job, state } = await findJob(this.#options.queues, id, queue, scope)
    if (state !== 'failed') throw conflict(job, state, 'only a failed job can be retried')
    await demandFlow(this.#options.queues, job, scope)
    const jobs = await this.#managed('retry', job, scope, async () => {
      await this.allowRetry(job)
      const change = await this.#options.queues.retry(job.queueName, job.id ?? '')
      if (change.jobs !== undefined) return change.jobs
      if (change.refused === 'gone')
        throw conflict(job, state, `its failed child "${change.child}" no longer exists and cannot run before it`)
      if (change.refused === 'busy') throw conflict(job, state, 'a worker is failing its parent; try again')
      throw conflict(job, 'no longer failed', 'only a failed job can be retried')
    })
    return this.done('retry', job, scope, 'retried', jobs.slice(1))
  }

  /** Throws JOB_ACTION_DENIED if a plugin denies the retry of a job, or of another one of its flow that is retried with it. */
  async allowRetry(job: Job): Promise<void> {
    const { queues } = this.#options
    if (!queues.retryGate.active) return
    for (const one of [job, ...(await retriedWith(queues, job))]) {
      const verdict = await queues.retryGate.call(one.queueName, one.id ?? '')
      if (verdict.denied) throw verdict.error ?? queueErrors.JOB_ACTION_DENIED(verdict.plugin, verdict.reason)
    }
  }

  /** Throws JOB_STATE_CONFLICT if the state of the job has changed since it was read. */
  async #unlessChanged(job: Job, state: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#options.queues.isUnavailable(error)) throw error
      throw conflict(job, state, messageOf(error))
    }
  }

  async cancel(id: string, queue: string | undefined, scope: Scope): Promise<ActionResult> {
    demand(scope, 'write')
    const { queues } = this.#options
    const { job, state } = await findJob(queues, id, queue, scope)
    await demandFlow(queues, job, scope)
    const ended = await this.#managed('cancel', job, scope, () =>
      queues.cancel(job.queueName, job.id ?? '', `by ${scope.actor.kind} ${scope.actor.id}`),
    )
    const { below, outcome } = ended
    if (outcome === 'unknown') throw monitorErrors.JOB_NOT_FOUND(id)
    if (outcome === 'finished') throw conflict(job, ended.state ?? state, 'a finished job cannot be cancelled')
    if (outcome === 'scheduled') throw conflict(job, state, 'it is the next job of a schedule; remove the schedule instead')
    return this.done('cancel', job, scope, outcome, below)
  }

  async promote(id: string, queue: string | undefined, scope: Scope): Promise<ActionResult> {
    demand(scope, 'write')
    const { job, state } = await findJob(this.#options.queues, id, queue, scope)
    if (state !== 'delayed') throw conflict(job, state, 'only a delayed job can be promoted')
    await demandFlow(this.#options.queues, job, scope)
    await this.#managed('promote', job, scope, () =>
      this.#unlessChanged(job, 'no longer delayed', () => this.#options.queues.change(() => job.promote())),
    )
    return this.done('promote', job, scope, 'promoted')
  }

  async add(queue: string, { data, name, options = {} }: AskedJob, scope: Scope): Promise<Added> {
    demand(scope, 'write')
    const { queues } = this.#options
    await existingQueue(queues, queue, scope)
    const { deduplicated, id } = await this.#options.manage(
      { action: 'job.add', target: `queue:${queue}`, actor: scope.actor },
      async (note) => {
        const added = await queues.add(queue, name, data, jobOptions({ priority: 'Normal', ...options }))
        note({ target: targetOf(queue, added.id ?? '') })
        return { id: added.id ?? '', deduplicated: added.deduplicated }
      },
    )
    await this.report({ action: 'add', queue, jobId: id, jobs: deduplicated ? 0 : 1, actor: scope.actor })
    return { ok: true, id, queue, deduplicated }
  }

  /**
   * Adds a copy of a job to the same queue, with its options and the same data, or with edited data in which redacted values are restored
   * from the original. Requires `payload:read`.
   */
  async duplicate(id: string, queue: string | undefined, changes: JobChanges, scope: Scope): Promise<Added> {
    demand(scope, 'write')
    const { queues, views } = this.#options
    const { job } = await findJob(queues, id, queue, scope)
    await views.admit(job, scope, 'copy')
    const data = await ('data' in changes ? views.restored(job, changes.data) : queues.restoredData(job))
    const options = { ...copiedOptions(job.opts), ...jobOptions(changes.options ?? {}) }
    const added = await this.#managed('duplicate', job, scope, async (note) => {
      const { queueName } = job
      const copy = await queues.copy(
        { queue: queueName, id: job.id ?? '', addedAt: job.timestamp },
        () => queues.add(queueName, changes.name ?? job.name, data, options),
        // A job that existed before is not the copy.
        async ({ deduplicated, id: made = '' }) => void (deduplicated || (await queues.purge(queueName, [made]))),
      )
      if (copy === undefined) throw monitorErrors.JOB_NOT_FOUND(id)
      note({ target: targetOf(queueName, copy.id ?? '') })
      return { id: copy.id ?? '', deduplicated: copy.deduplicated }
    })
    const { deduplicated, id: copy } = added
    await this.report({ action: 'duplicate', queue: job.queueName, jobId: copy, jobs: deduplicated ? 0 : 1, actor: scope.actor })
    return { ok: true, id: copy, queue: job.queueName, deduplicated }
  }

  async setPaused(queue: string, paused: boolean, scope: Scope): Promise<{ ok: true; queue: string; paused: boolean }> {
    demand(scope, 'write')
    const { queues } = this.#options
    await existingQueue(queues, queue, scope)
    const action = `queue.${paused ? 'pause' : 'resume'}`
    await this.#options.manage({ action, target: `queue:${queue}`, actor: scope.actor }, () =>
      queues.change(() => (paused ? queues.queue(queue).pause() : queues.queue(queue).resume())),
    )
    await this.report({ action: paused ? 'pause' : 'resume', queue, jobs: 0, actor: scope.actor })
    return { ok: true, queue, paused }
  }

  /** Logs an action and calls the hook. */
  async report(action: MonitorAction): Promise<void> {
    const { log, onMonitorAction } = this.#options
    log.info({ action: action.action, queue: action.queue, jobs: action.jobs, actor: action.actor }, 'an operator acted on a queue')
    if (onMonitorAction.active) await onMonitorAction.call(action)
  }

  #managed<T>(
    verb: MonitorAction['action'],
    { id = '', queueName }: Job,
    { actor }: Scope,
    work: (note: (facts: ActionFacts) => void) => Promise<T>,
  ): Promise<T> {
    return this.#options.manage({ action: `job.${verb}`, target: targetOf(queueName, id), actor }, work)
  }

  /** Reports an action on a job and returns its result. */
  async done(
    action: MonitorAction['action'],
    job: Job,
    { actor }: Scope,
    outcome: string,
    others: readonly ChangedJob[] = [],
  ): Promise<ActionResult> {
    const { id = '', queueName: queue } = job
    await this.report({ action, queue, jobId: id, jobs: 1 + others.length, actor })
    const related = others.map((one) => `${one.queue}:${one.id}`)
    return { ok: true, id, queue, outcome, ...(related.length > 0 && { related }) }
  }
}

function targetOf(queue: string, id: string): string {
  return `job:${queue}/${id}`
}

function conflict(job: Job, state: string, what: string): Error {
  return monitorErrors.JOB_STATE_CONFLICT(job.id ?? '', job.queueName, state, what)
}

function jobOptions({ priority, ...others }: AskedOptions): JobOptions {
  const level = priorityOf(priority)
  return level === undefined ? others : { ...others, priority: bullPriority(level) }
}
