import type { Workers } from '../contract.js'
import { refuse, workerErrors } from '../errors.js'
import { argumentProblems, flowProblems } from '../jobs/flow-plan.js'
import { jobProblems } from '../jobs/job-plan.js'
import type { WorkerJobs } from '../jobs/jobs.js'
import type { KnownRecords } from '../jobs/known-records.js'
import type { FlowJob, FlowSpec, ScheduleTiming } from '../jobs/types.js'
import type { WorkerRecord } from '../record/record.js'
import type { StoreRegistry } from '../store/registry.js'
import type { FlowChange, ScheduleChange, WorkerAction, WorkerActions } from './change.js'
import type { ChangeStep } from './changes.js'
import type { WorkerWrites } from './writes.js'

export interface JobActionsParts {
  readonly writes: WorkerWrites
  readonly storeRegistry: StoreRegistry
  readonly jobs: WorkerJobs
  readonly known: KnownRecords
}

/** Runs a management action with its hooks. */
export type Act = <Action extends WorkerAction, T>(
  action: Action,
  worker: string,
  work: (step: ChangeStep<WorkerActions[Action]>) => Promise<T>,
  target?: string,
) => Promise<T>

type JobActions = Pick<Workers, 'enqueue' | 'enqueueFlow' | 'cancelJob' | 'schedule' | 'unschedule'>

/** Actions on the jobs and schedules of workers. */
export function jobActions({ writes, storeRegistry, jobs, known }: JobActionsParts, act: Act): JobActions {
  const record = async (name: string) => (await writes.find(name)).worker.record
  const scheduled = async (worker: WorkerRecord, id: string): Promise<ScheduleChange | null> => {
    const found = (await jobs.schedules(worker)).find((one) => one.id === id)
    return found === undefined ? null : scheduleChange(id, found)
  }

  return {
    enqueue: (name, data, options = {}) =>
      act('job.add', name, async (step) => {
        const worker = await known.of(name)
        const queue = worker.queueName
        await step.allow(() => {
          refuse(jobProblems(options))
          return { before: null, after: { id: null, queue, options } }
        })
        const added = await jobs.add(worker, data, options)
        step.done(() => ({ before: null, after: { id: added.id, queue: added.queue, options } }))
        return added
      }),

    enqueueFlow: (flow, ...more: readonly unknown[]) =>
      act('flow.add', flow?.worker, async (step) => {
        // Evaluated also without a listener, unlike the subjects of a change.
        refuse(argumentProblems(more))
        await step.allow(() => {
          refuse(flowProblems(flow))
          return { before: null, after: flowChange(flow) }
        })
        const added = await jobs.addFlow((name) => known.of(name), flow)
        step.done(() => ({ before: null, after: flowChange(flow, added) }))
        return added
      }),

    cancelJob: (name, id, reason = 'by an operator') =>
      act(
        'job.cancel',
        name,
        async (step) => {
          const worker = await record(name)
          const job = { id, queue: worker.queueName }
          await step.allow(() => ({ before: job, after: null }))
          const outcome = await jobs.cancel(worker, id, reason)
          step.done(() => ({ before: job, after: { ...job, outcome } }))
          return outcome
        },
        id,
      ),

    schedule: (name, id, spec) =>
      act(
        'schedule.put',
        name,
        async (step) => {
          const { worker } = await writes.find(name)
          jobs.checkSchedule(id, spec, 0)
          // A repeated request changes nothing, so plugins are not asked and nothing is recorded. Errors come again below.
          const same = await jobs.sameSchedule(worker.record, id, spec).catch(() => undefined)
          if (same !== undefined) return same
          jobs.checkSchedule(id, spec)
          const before = step.active ? await scheduled(worker.record, id) : null
          await step.allow(() => ({ before, after: scheduleChange(id, spec) }))
          const view = await jobs.schedule(worker.record, id, spec)
          const now = await storeRegistry.find(name)
          if (now?.worker.id === worker.id && now.worker.record.queueName === worker.record.queueName) {
            step.done(() => ({ before, after: scheduleChange(id, view) }))
            return view
          }
          // The worker no longer takes jobs from this queue.
          await jobs.dropSchedule(worker.record, id)
          throw now === undefined ? workerErrors.WORKER_NOT_FOUND(name) : workerErrors.WORKER_CHANGED(name)
        },
        id,
      ),

    unschedule: (name, id) =>
      act(
        'schedule.remove',
        name,
        async (step) => {
          const worker = await record(name)
          const before = step.active ? await scheduled(worker, id) : null
          await step.allow(() => ({ before, after: null }))
          await jobs.unschedule(worker, id)
          step.done(() => ({ before, after: null }))
        },
        id,
      ),
  }
}

/** Only the timing of a schedule, because its data may be private. */
function scheduleChange(id: string, timing: ScheduleTiming): ScheduleChange {
  const { pattern, every, tz, startDate, endDate, limit, overlap, catchUp } = timing
  const shown = { pattern, every, tz, startDate, endDate, limit, overlap, catchUp }
  return { id, ...Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)) }
}

function flowChange({ worker, options, children = [] }: FlowSpec, added?: FlowJob): FlowChange {
  return {
    worker,
    id: added?.id ?? null,
    queue: added?.queue ?? null,
    ...(options === undefined ? {} : { options }),
    children: children.map((child, at) => flowChange(child, added?.children[at])),
  }
}
