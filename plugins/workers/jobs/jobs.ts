import type { Job } from 'bullmq'
import { messageOf, type SlotOf, withDeadline, ZinError } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { refuse, workerErrors } from '../errors.js'
import type { WorkerHooks } from '../hooks.js'
import type { WorkerRecord } from '../record/record.js'
import type { EnqueueOptions, JobCounts, JobStatus, WorkerJob } from '../types.js'
import { type JobDefaults, jobPlanOf, jobProblems } from './job-plan.js'
import { bullPriority } from './priority.js'

export interface JobsParts {
  readonly queues: Queues
  readonly transform: SlotOf<WorkerHooks['transformJobOptions']>
  readonly defaults: JobDefaults
  /** ms. */
  readonly connectionTimeout: number
}

/** The jobs in the queues of workers. */
export class WorkerJobs {
  readonly #parts: JobsParts

  constructor(parts: JobsParts) {
    this.#parts = parts
  }

  async add(record: WorkerRecord, data: unknown, options: EnqueueOptions): Promise<{ readonly id: string; readonly queue: string }> {
    refuse(jobProblems(options))
    if (!record.activeStatus) throw workerErrors.WORKER_INACTIVE(record.name)
    const { queues, transform, defaults } = this.#parts
    let plan = jobPlanOf(record, options, defaults)
    if (transform.active) {
      plan = await transform.call(plan, record.name, data)
      refuse(jobProblems(plan))
    }
    const { name, priority, ...rest } = plan
    const job = await this.#reach(`The job was not added to "${record.queueName}"`, () =>
      queues.add(record.queueName, name, data, { ...rest, priority: bullPriority(priority) }),
    )
    return { id: job.id ?? '', queue: record.queueName }
  }

  async read(record: WorkerRecord, id: string): Promise<WorkerJob> {
    const { queues } = this.#parts
    return this.#reach('The job was not read', async () => {
      const job: Job | undefined = await queues.queue(record.queueName).getJob(id)
      const status = job === undefined ? undefined : statusOf(await job.getState())
      if (job === undefined || status === undefined) throw workerErrors.JOB_NOT_FOUND(record.name, record.queueName)
      return {
        id,
        name: job.name,
        queue: record.queueName,
        status,
        attempts: job.attemptsMade,
        maxAttempts: job.opts.attempts ?? 1,
        createdAt: new Date(job.timestamp).toISOString(),
        startedAt: isoOf(job.processedOn),
        finishedAt: isoOf(job.finishedOn),
        result: status === 'completed' ? (job.returnvalue ?? null) : null,
        error: status === 'failed' ? (job.failedReason ?? null) : null,
      }
    })
  }

  async counts(record: WorkerRecord): Promise<JobCounts> {
    const found = await this.#reach('The jobs were not counted', () => this.#parts.queues.counts(record.queueName))
    const { waiting, active, completed, failed, delayed } = found
    return { waiting, active, completed, failed, delayed }
  }

  /** A store that does not answer in time, or says that it is away, is 503. */
  async #reach<T>(what: string, work: () => Promise<T>): Promise<T> {
    const { connectionTimeout, queues } = this.#parts
    try {
      return await withDeadline(work(), connectionTimeout, `no answer within ${connectionTimeout} ms`)
    } catch (error) {
      const away = queues.isUnavailable(error) || (error instanceof ZinError && error.code === 'ZIN_DEADLINE')
      throw away ? workerErrors.QUEUE_CONNECTION_ERROR(what, messageOf(error)) : error
    }
  }
}

/** BullMQ's states in the words of the worker API; a job that is gone has none. */
const statuses: Readonly<Record<string, JobStatus>> = {
  waiting: 'waiting',
  prioritized: 'waiting',
  'waiting-children': 'waiting',
  paused: 'waiting',
  active: 'active',
  completed: 'completed',
  failed: 'failed',
  delayed: 'delayed',
}

function statusOf(state: string): JobStatus | undefined {
  return Object.hasOwn(statuses, state) ? statuses[state] : undefined
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined || ms === 0 ? null : new Date(ms).toISOString()
}
