import type { Collect, First, Gate, HookSpecs, Notify, Settle, Waterfall } from 'zin'
import type { WorkerChange } from './control/change.js'
import type { PluginHealthTerm } from './health/score.js'
import type { AddedJob, AttemptEnd, FailedJobView, JobPlan, JobView } from './jobs/types.js'
import type { WorkerProcessor } from './processors/processor.js'

/** Hooks that the workers plugin fires. */
export interface WorkerHooks {
  onJobStart: Notify<[workerName: string, job: JobView]>
  onJobComplete: Notify<[workerName: string, job: JobView, result: unknown]>
  onJobFailed: Notify<[workerName: string, job: FailedJobView, error: Error]>
  onJobAdded: Notify<[workerName: string, job: AddedJob]>
  onAttemptEnd: Notify<[end: AttemptEnd]>
  afterAttempt: Settle<[end: AttemptEnd]>
  onWorkerStart: Settle<[workerName: string]>
  onWorkerStop: Settle<[workerName: string]>
  beforeWorkerStart: Gate<[workerName: string]>
  beforeWorkerChange: Gate<[change: WorkerChange]>
  onWorkerChange: Settle<[change: WorkerChange]>
  onWorkerChangeFailed: Settle<[change: WorkerChange, error: Error]>
  collectHealthTerms: Collect<[workerName: string], readonly PluginHealthTerm[]>
  transformJobOptions: Waterfall<JobPlan, [workerName: string, data: unknown]>
  resolveProcessor: First<[workerName: string], WorkerProcessor>
}

export const workerHooks = {
  onJobStart: { kind: 'notify', args: ['workerName', 'job'], summary: 'An attempt of a job starts' },
  onJobComplete: { kind: 'notify', args: ['workerName', 'job', 'result'], summary: 'A job is recorded as completed' },
  onJobFailed: {
    kind: 'notify',
    args: ['workerName', 'job', 'error'],
    summary: 'An attempt is recorded as failed; `final`: the job is not retried',
  },
  onJobAdded: {
    kind: 'notify',
    args: ['workerName', 'job'],
    summary: 'A job is stored in the queue of a worker; not called for jobs that a schedule adds',
  },
  onAttemptEnd: {
    kind: 'notify',
    args: ['end'],
    summary: 'The store has accepted the outcome of an attempt; `final`: the job is done',
  },
  afterAttempt: {
    kind: 'settle',
    args: ['end'],
    summary: 'The same, for audits: a worker waits for pending calls before it stops, and begins no attempt while 1000 are pending',
  },
  onWorkerStart: { kind: 'settle', args: ['workerName'], summary: 'A worker has started to consume jobs on this node' },
  onWorkerStop: { kind: 'settle', args: ['workerName'], summary: 'A worker has stopped consuming jobs on this node' },
  beforeWorkerStart: { kind: 'gate', args: ['workerName'], summary: 'A worker is about to start on this node; deny to keep it stopped' },
  beforeWorkerChange: {
    kind: 'gate',
    args: ['change'],
    summary: 'A management action is about to change a worker, its jobs or schedules; deny to refuse it with 409, or 403',
  },
  onWorkerChange: {
    kind: 'settle',
    args: ['change'],
    summary: 'A management action has changed a worker, its jobs or schedules; its caller receives the response afterwards',
  },
  onWorkerChangeFailed: {
    kind: 'settle',
    args: ['change', 'error'],
    summary: 'A management action was refused, or failed after `beforeWorkerChange` and before it changed anything',
  },
  collectHealthTerms: {
    kind: 'collect',
    args: ['workerName'],
    summary: "Penalties that the plugin adds to a worker's health score, with the reasons",
  },
  transformJobOptions: {
    kind: 'waterfall',
    args: ['options', 'workerName', 'data'],
    summary: 'Options of a job that is about to be added: name, priority 0–10, attempts, backoff, delay',
  },
  resolveProcessor: {
    kind: 'first',
    args: ['workerName'],
    summary: 'The processor of a worker that has neither a path nor a registered processor',
  },
} satisfies HookSpecs<WorkerHooks>

declare module 'zin' {
  interface HookMap extends WorkerHooks {}
}
