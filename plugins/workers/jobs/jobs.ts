import type { FlowJob as BullFlow, Queue } from 'bullmq'
import type { Clock } from 'zin'
import { isStorableText, type JobTemplate, type QueueJob, type Queues, repeatAdding, repeatable, type Schedule } from 'zin/plugins/queues'
import { refuse, workerErrors } from '../errors.js'
import type { HookSlots } from '../hook-slots.js'
import type { WorkerRecord } from '../record/record.js'
import { type FlowPlace, flowProblems, placeBelow, rootPlace, workersOf } from './flow-plan.js'
import { bullOptions, flowRootKey, type JobDefaults, jobPlanOf, jobProblems } from './job-plan.js'
import { statusOf, workerJob } from './job-view.js'
import { type Reach, reachOf } from './reach.js'
import { isScheduleId, scheduleIdOf, scheduleProblems, schedulerId, scheduleView, timingOf } from './schedule-plan.js'
import type {
  CancelOutcome,
  Enqueued,
  EnqueuedFlow,
  EnqueueOptions,
  FlowJob,
  FlowSpec,
  JobCounts,
  JobPlan,
  ScheduleSpec,
  ScheduleView,
  WorkerJob,
} from './types.js'

export interface JobsParts {
  readonly queues: Queues
  readonly hooks: Pick<HookSlots, 'transformJobOptions' | 'onJobAdded'>
  readonly clock: Clock
  readonly defaults: JobDefaults
  /** ms. */
  readonly connectionTimeout: number
}

/** The jobs in the queues of workers. */
export class WorkerJobs {
  readonly #parts: JobsParts
  readonly #reach: Reach
  readonly #reachInSteps: Reach

  constructor(parts: JobsParts) {
    this.#parts = parts
    this.#reach = reachOf(parts.queues, parts.connectionTimeout)
    this.#reachInSteps = reachOf(parts.queues)
  }

  async add(record: WorkerRecord, data: unknown, options: EnqueueOptions): Promise<Enqueued> {
    refuse(jobProblems(options))
    const plan = await this.#plan(record, data, options)
    const job = await this.#reach(
      `The job was not added to "${record.queueName}"`,
      (queues) => queues.add(record.queueName, plan.name, data, bullOptions(plan)),
      repeatAdding([plan]),
    )
    const { deduplicated, id = '' } = job
    const added = { id, queue: record.queueName, deduplicated }
    if (!deduplicated) this.#added(record.name, added, plan)
    return added
  }

  async addFlow(resolve: (worker: string) => Promise<WorkerRecord>, flow: FlowSpec): Promise<EnqueuedFlow> {
    refuse(flowProblems(flow))
    const records = new Map<string, WorkerRecord>()
    for (const name of workersOf(flow)) records.set(name, await resolve(name))
    const planned = await this.#flowOf(flow, records)
    const { jobId } = planned.plan
    const what = 'The flow was not added'
    // Adding a flow is atomic: if its root exists, all of it was added, and children that have ended may be gone.
    if (jobId !== undefined && (await this.#reach(what, (queues) => queues.job(planned.tree.queueName, jobId))) !== undefined)
      return { ...flowJob(planned), deduplicated: true }
    await this.#reach(what, (queues) => queues.addFlow(planned.tree), repeatAdding([planned.plan]))
    const added = flowJob(planned)
    this.#flowAdded(added, planned)
    return { ...added, deduplicated: false }
  }

  async read(record: WorkerRecord, id: string): Promise<WorkerJob> {
    const { job, state } = await this.#reach('The job was not read', () => this.#find(record, id))
    const status = statusOf(state)
    if (status === undefined) throw workerErrors.JOB_NOT_FOUND(record.name, record.queueName)
    const result = status === 'completed' ? await this.#parts.queues.restoredResult(job) : null
    return workerJob(job, status, result)
  }

  async counts(record: WorkerRecord): Promise<JobCounts> {
    const found = await this.#reach('The jobs were not counted', (queues) => queues.counts(record.queueName))
    const { waiting, waitingChildren, active, completed, failed, delayed } = found
    return { waiting: waiting + waitingChildren, active, completed, failed, delayed }
  }

  /** Whether the queue itself is paused, which pauses all its workers. */
  async isPaused(record: WorkerRecord): Promise<boolean> {
    return this.#reach('The queue was not read', (queues) => queues.queue(record.queueName).isPaused())
  }

  /** When the oldest waiting job became due, ms since 1970; undefined: none waits. */
  async oldestWaiting(record: WorkerRecord): Promise<number | undefined> {
    return this.#reach('The waiting jobs were not read', (queues) => queues.oldestWaiting(record.queueName))
  }

  /** 404 JOB_NOT_FOUND; 409 JOB_FINISHED, JOB_SCHEDULED. */
  async cancel(record: WorkerRecord, id: string, reason: string): Promise<CancelOutcome> {
    const {
      outcome,
      job,
      state = '',
    } = await this.#reachInSteps(
      'The job was not cancelled',
      (queues) => queues.cancel(record.queueName, id, reason, { timeoutMs: this.#parts.connectionTimeout }),
      repeatable,
    )
    if (outcome === 'unknown') throw workerErrors.JOB_NOT_FOUND(record.name, record.queueName)
    if (outcome === 'finished') throw workerErrors.JOB_FINISHED(record.name, statusOf(state) ?? state)
    if (outcome !== 'scheduled') return outcome
    const scheduler = job?.repeatJobKey ?? ''
    throw workerErrors.JOB_SCHEDULED(record.name, scheduleIdOf(record.name, scheduler) ?? scheduler)
  }

  /**
   * Throws INVALID_SCHEDULE and INVALID_JOB_OPTIONS.
   *
   * @param since in ms since 1970: a schedule must be due then or later. Default: now.
   */
  checkSchedule(id: string, spec: ScheduleSpec, since = this.#parts.clock.now()): void {
    refuse(scheduleProblems(id, spec, since, this.#parts.queues.nextRun))
  }

  /** The view of a schedule that is stored exactly so already; undefined if storing it would change something. */
  async sameSchedule(record: WorkerRecord, id: string, spec: ScheduleSpec): Promise<ScheduleView | undefined> {
    // One that has ended stays so.
    const template = await this.#template(record, id, spec, 0)
    const scheduler = schedulerId(record.name, id)
    const isSame = await this.#reach('The schedule was not read', (queues) =>
      queues.isScheduled(record.queueName, scheduler, timingOf(spec), template),
    )
    return isSame ? (await this.schedules(record)).find((one) => one.id === id) : undefined
  }

  async schedule(record: WorkerRecord, id: string, spec: ScheduleSpec): Promise<ScheduleView> {
    const { clock } = this.#parts
    const template = await this.#template(record, id, spec)
    const scheduler = schedulerId(record.name, id)
    const what = `The schedule "${id}" was not stored`
    try {
      await this.#reach(what, (queues) => queues.schedule(record.queueName, scheduler, timingOf(spec), template), repeatable)
    } catch (error) {
      throw isTaken(error) ? workerErrors.SCHEDULE_BUSY(record.name, id) : error
    }
    const stored = (await this.#schedulers(record)).find((one) => one.id === id)?.scheduler
    // Another process may have removed it in the meantime.
    if (stored === undefined) throw workerErrors.SCHEDULE_NOT_FOUND(record.name)
    return scheduleView(id, record.name, stored, clock.now())
  }

  /** Schedules of a worker, ordered by their next time. */
  async schedules(record: WorkerRecord): Promise<readonly ScheduleView[]> {
    const now = this.#parts.clock.now()
    return (await this.#schedulers(record)).map(({ id, scheduler }) => scheduleView(id, record.name, scheduler, now))
  }

  async unschedule(record: WorkerRecord, id: string): Promise<void> {
    if (!isScheduleId(id) || !(await this.dropSchedule(record, id))) throw workerErrors.SCHEDULE_NOT_FOUND(record.name)
  }

  /** Returns false when there is none. */
  async dropSchedule(record: WorkerRecord, id: string): Promise<boolean> {
    if (!isStorableText(id)) return false
    return this.#reach(
      'The schedule was not removed',
      (queues) => queues.change(() => queues.queue(record.queueName).removeJobScheduler(schedulerId(record.name, id))),
      repeatable,
    )
  }

  async dropSchedules(record: WorkerRecord): Promise<void> {
    for (const { id } of await this.schedules(record)) await this.dropSchedule(record, id)
  }

  /**
   * Moves schedules to another queue. Each is added there before it is removed here, so an interrupted move loses none. One with a limit
   * moves with the number of jobs that it has left, and is removed when it has none. Returns false when there were no schedules.
   */
  async moveSchedules(from: WorkerRecord, to: WorkerRecord): Promise<boolean> {
    const found = await this.#schedulers(from)
    for (const { id, scheduler } of found) {
      await this.#parts.queues.copy(
        { queue: from.queueName, schedule: scheduler.key },
        () => this.#copySchedule(`The schedule "${id}" was not moved`, scheduler, from, to),
        () => this.#parts.queues.purgeSchedule(to.queueName, scheduler.key),
      )
      await this.dropSchedule(from, id)
    }
    return found.length > 0
  }

  /** The template of each job of a schedule, after its checks. */
  async #template(record: WorkerRecord, id: string, spec: ScheduleSpec, since?: number): Promise<JobTemplate> {
    this.checkSchedule(id, spec, since)
    const plan = await this.#plan(record, spec.data, spec.options ?? {}, ['delay', 'jobId', 'onFailure'])
    const { delay: _, ...options } = bullOptions(plan)
    return { name: plan.name, data: spec.data, options }
  }

  async #copySchedule(
    what: string,
    scheduler: Awaited<ReturnType<Queues['schedules']>>[number],
    from: WorkerRecord,
    to: WorkerRecord,
  ): Promise<void> {
    const { key, name } = scheduler
    if (!(await this.#reach(what, (queues) => queues.queue(from.queueName).getJobScheduler(key)))) return
    const limit = await this.#reach(what, (queues) => jobsLeft(queues.queue(from.queueName), scheduler))
    if (limit === 0) return
    const { data: stored, opts: options = {} } = scheduler.template ?? {}
    const data = await this.#parts.queues.restoredData({ queueName: from.queueName, data: stored })
    const timing = { ...timingOf(scheduler), ...(limit !== undefined && { limit }) }
    await this.#reach(what, (queues) => queues.schedule(to.queueName, key, timing, { name, data, options }), repeatable)
  }

  /** Ordered by their next time. */
  async #schedulers({ name, queueName }: WorkerRecord) {
    const found = await this.#reach('The schedules were not read', (queues) => queues.schedules(queueName))
    return found.flatMap((scheduler) => {
      const id = scheduleIdOf(name, scheduler.key)
      return id === undefined ? [] : [{ id, scheduler }]
    })
  }

  /** The plan for validated options, after the hook `transformJobOptions`. */
  async #plan(
    record: WorkerRecord,
    data: unknown,
    options: EnqueueOptions,
    without: readonly (keyof EnqueueOptions)[] = [],
  ): Promise<JobPlan> {
    if (!record.activeStatus) throw workerErrors.WORKER_INACTIVE(record.name)
    const { defaults, hooks } = this.#parts
    const plan = jobPlanOf(record, options, defaults)
    if (!hooks.transformJobOptions.active) return plan
    const changed = await hooks.transformJobOptions.call(plan, record.name, data)
    refuse(
      jobProblems(
        changed,
        'options',
        without.filter((key) => plan[key] === undefined),
      ),
    )
    return changed
  }

  async #flowOf(spec: FlowSpec, records: ReadonlyMap<string, WorkerRecord>, inFlow?: FlowPlace): Promise<PlannedFlow> {
    const { worker, data, options = {}, children = [] } = spec
    const record = records.get(worker)
    if (record === undefined) throw workerErrors.WORKER_NOT_FOUND(worker)
    const plan = await this.#plan(record, data, options, ['deduplication', inFlow === undefined ? 'onFailure' : 'jobId'])
    const { newId } = this.#parts.queues
    const place = inFlow ?? rootPlace(plan.jobId, newId)
    const { root } = place
    const below: PlannedFlow[] = []
    for (const [at, child] of children.entries()) below.push(await this.#flowOf(child, records, placeBelow(place, at, newId)))
    const tree: BullFlow = {
      name: plan.name,
      queueName: record.queueName,
      data,
      // Without one of these, the parent of a permanently failed child would wait forever.
      opts: {
        ...bullOptions(plan),
        jobId: place.id,
        ...(inFlow !== undefined && {
          ...(plan.onFailure === 'continue' ? { ignoreDependencyOnFailure: true } : { failParentOnFailure: true }),
          [flowRootKey]: root,
        }),
      },
      ...(below.length > 0 && { children: below.map((child) => child.tree) }),
    }
    return { worker, id: place.id, plan, tree, children: below }
  }

  #flowAdded(job: FlowJob, { plan, children }: PlannedFlow): void {
    this.#added(job.worker, job, plan)
    for (const [i, child] of children.entries()) this.#flowAdded(job.children[i] as FlowJob, child)
  }

  #added(worker: string, { id, queue }: { readonly id: string; readonly queue: string }, plan: JobPlan): void {
    const { onJobAdded } = this.#parts.hooks
    if (onJobAdded.active) onJobAdded.call(worker, { id, queue, name: plan.name, options: plan })
  }

  async #find(record: WorkerRecord, id: string): Promise<QueueJob> {
    const found = await this.#parts.queues.job(record.queueName, id)
    if (found === undefined) throw workerErrors.JOB_NOT_FOUND(record.name, record.queueName)
    return found
  }
}

/** A tree of jobs to add, with the plan of each. */
interface PlannedFlow {
  readonly worker: string
  readonly id: string
  readonly plan: JobPlan
  readonly tree: BullFlow
  readonly children: readonly PlannedFlow[]
}

function flowJob({ children, id, tree, worker }: PlannedFlow): FlowJob {
  return { worker, id, queue: tree.queueName, children: children.map(flowJob) }
}

/** How many jobs a schedule will still add, including a next one that is not due yet; undefined if it has no limit. */
async function jobsLeft(
  queue: Pick<Queue, 'getJob' | 'getJobState'>,
  { iterationCount = 0, key, limit, next }: Schedule,
): Promise<number | undefined> {
  if (limit === undefined) return undefined
  const id = `repeat:${key}:${next}`
  const [job, state] = await Promise.all([queue.getJob(id), queue.getJobState(id)])
  // BullMQ counts in the jobs. Its count in the schedule includes jobs from before the schedule was last changed.
  const { repeat } = (job?.opts ?? {}) as { readonly repeat?: { readonly count?: number } }
  const added = repeat?.count ?? iterationCount
  const waits = job !== undefined && state !== 'active' && state !== 'completed' && state !== 'failed'
  const hasBegun = (job?.attemptsMade ?? 0) + (job?.stalledCounter ?? 0) > 0
  return Math.max(0, limit - added + (waits && !hasBegun ? 1 : 0))
}

/** Whether BullMQ reports that the scheduled job for that time cannot be replaced, because it runs or has run. */
function isTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === -10 || error.code === -11)
}
