import type { Collect, First, Gate, HookSpecs, Notify, Settle, Waterfall } from 'zin'
import type { WorkerChange } from './control/change.js'
import type { PluginHealthTerm } from './health/score.js'
import type { FailedJobView, JobPlan, JobView } from './jobs/types.js'
import type { WorkerProcessor } from './processors/processor.js'

/** Hooks that the workers plugin fires. */
export interface WorkerHooks {
  onJobStart: Notify<[workerName: string, job: JobView]>
  onJobComplete: Notify<[workerName: string, job: JobView, result: unknown]>
  onJobFailed: Notify<[workerName: string, job: FailedJobView, error: Error]>
  onWorkerStart: Settle<[workerName: string]>
  onWorkerStop: Settle<[workerName: string]>
  beforeWorkerStart: Gate<[workerName: string]>
  beforeWorkerChange: Gate<[change: WorkerChange]>
  onWorkerChange: Settle<[change: WorkerChange]>
  collectHealthTerms: Collect<[workerName: string], readonly PluginHealthTerm[]>
  transformJobOptions: Waterfall<JobPlan, [workerName: string, data: unknown]>
  transformJobData: Waterfall<unknown, [workerName: string]>
  restoreJobData: Waterfall<unknown, [workerName: string]>
  transformJobResult: Waterfall<unknown, [workerName: string]>
  restoreJobResult: Waterfall<unknown, [workerName: string]>
  resolveProcessor: First<[workerName: string], WorkerProcessor>
}

export const workerHooks = {
  onJobStart: { kind: 'notify', args: ['workerName', 'job'], summary: 'An attempt of a job begins' },
  onJobComplete: { kind: 'notify', args: ['workerName', 'job', 'result'], summary: 'A job is recorded as completed' },
  onJobFailed: {
    kind: 'notify',
    args: ['workerName', 'job', 'error'],
    summary: 'An attempt is recorded as failed; `final` says whether the job is not tried again',
  },
  onWorkerStart: { kind: 'settle', args: ['workerName'], summary: 'A worker of this process consumes jobs from now on' },
  onWorkerStop: { kind: 'settle', args: ['workerName'], summary: 'A worker of this process has stopped consuming' },
  beforeWorkerStart: { kind: 'gate', args: ['workerName'], summary: 'A worker is about to start in this process; deny to keep it stopped' },
  beforeWorkerChange: {
    kind: 'gate',
    args: ['change'],
    summary: 'A management action is about to change a worker, its jobs or schedules; deny to refuse it with 409, or 403',
  },
  onWorkerChange: {
    kind: 'settle',
    args: ['change'],
    summary: 'A management action has changed a worker, its jobs or schedules; its caller gets the response afterwards',
  },
  collectHealthTerms: {
    kind: 'collect',
    args: ['workerName'],
    summary: "Points that the plugin takes off a worker's health score, with the reasons",
  },
  transformJobOptions: {
    kind: 'waterfall',
    args: ['options', 'workerName', 'data'],
    summary: 'Options of a job about to be added: name, priority 0–10, attempts, backoff, delay',
  },
  transformJobData: {
    kind: 'waterfall',
    args: ['data', 'workerName'],
    summary: 'The payload of a job before it is stored, e.g. to encrypt it',
  },
  restoreJobData: {
    kind: 'waterfall',
    args: ['data', 'workerName'],
    summary: 'The payload of a job before its processor and the job hooks see it',
  },
  transformJobResult: { kind: 'waterfall', args: ['result', 'workerName'], summary: 'The result of a job before it is stored' },
  restoreJobResult: { kind: 'waterfall', args: ['result', 'workerName'], summary: 'The result of a job before the API shows it' },
  resolveProcessor: { kind: 'first', args: ['workerName'], summary: 'The processor of a worker that has no path and no registered one' },
} satisfies HookSpecs<WorkerHooks>

declare module 'zin' {
  interface HookMap extends WorkerHooks {}
}
