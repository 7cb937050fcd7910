import type { ActionActor, Gate, HookSpecs, Settle, Waterfall } from 'zin'
import type { NewJob } from './contract.js'
import type { Place } from './search/contract.js'

/** A stored text of a job: the reason of a failure, one stack, or one line of its log. */
export type JobTextPart = 'error' | 'stack' | 'log'

/** How jobs are added. */
export interface JobAddition {
  /** The id of the schedule, if the job is the template of one. */
  readonly schedule?: string
}

/** An access to the payload or log of a job, or to parts of many. */
export interface PayloadView {
  /** `*` for a search of all queues. */
  readonly queue: string
  /** Empty for a list and a search. */
  readonly jobId: string
  readonly actor: ActionActor
  /**
   * `payload`: the data in a list or in details, or the result. `download`: the data as a file. `logs`: the log of the job, or the errors of
   * its attempts. `copy`: the data for another job. `errors`: encrypted errors in a list of the queue. `search`: a search by
   * fields of the data or by encrypted errors.
   */
  readonly what: 'payload' | 'download' | 'logs' | 'copy' | 'errors' | 'search'
  /** Whether the permission payload:read was granted to the actor explicitly; false if access is unrestricted by default. */
  readonly granted: boolean
}

/** Hooks that the queues plugin fires; what the hooks for jobs return is stored. */
export interface QueueHooks {
  beforeJobsAdd: Waterfall<readonly NewJob[], [queue: string, addition: JobAddition]>
  afterJobsAdd: Settle<[jobs: readonly NewJob[], queue: string, addition: JobAddition]>
  beforeJobUpdate: Gate<[job: NewJob, queue: string]>
  transformJobData: Waterfall<unknown, [queue: string]>
  restoreJobData: Waterfall<unknown, [queue: string]>
  transformJobResult: Waterfall<unknown, [queue: string]>
  restoreJobResult: Waterfall<unknown, [queue: string]>
  transformJobText: Waterfall<string, [queue: string, part: JobTextPart]>
  restoreJobText: Waterfall<string, [queue: string, part: JobTextPart]>
  placeJobField: Waterfall<readonly Place[], [queue: string, path: string]>
  afterJobsPurge: Settle<[queue: string, jobs: readonly PurgedJob[]]>
  beforePayloadView: Gate<[view: PayloadView]>
  beforeJobRetry: Gate<[queue: string, jobId: string]>
  redactPayload: Waterfall<unknown, [queue: string]>
}

/** A job that was purged. */
export interface PurgedJob {
  readonly id: string
  /** Attempts that were started; undefined if the job no longer existed. */
  readonly attempts: number | undefined
}

export const queueHooks = {
  beforeJobsAdd: {
    kind: 'waterfall',
    args: ['jobs', 'queue', 'addition'],
    summary: 'Jobs about to be added, with their original data: return them with changed options, or throw to refuse them',
  },
  afterJobsAdd: {
    kind: 'settle',
    args: ['jobs', 'queue', 'addition'],
    summary: 'Jobs were stored, with the options that beforeJobsAdd returned and without their data; the caller waits for the listeners',
  },
  beforeJobUpdate: {
    kind: 'gate',
    args: ['job', 'queue'],
    summary: 'The data of a stored job is about to be replaced, with the new data before it is transformed; deny to refuse it',
  },
  transformJobData: {
    kind: 'waterfall',
    args: ['data', 'queue'],
    summary: 'The payload of a job, or progress that is not a number, before it is stored, e.g. to encrypt it',
  },
  restoreJobData: {
    kind: 'waterfall',
    args: ['data', 'queue'],
    summary: 'The payload or progress of a job before the processor, the job hooks and readers receive it',
  },
  transformJobResult: { kind: 'waterfall', args: ['result', 'queue'], summary: 'The result of a job before it is stored' },
  restoreJobResult: { kind: 'waterfall', args: ['result', 'queue'], summary: 'The result of a job before it is returned' },
  transformJobText: {
    kind: 'waterfall',
    args: ['text', 'queue', 'part'],
    summary: 'The error, a stack or a log line of a job before it is stored',
  },
  restoreJobText: {
    kind: 'waterfall',
    args: ['text', 'queue', 'part'],
    summary: 'The error, a stack or a log line of a job before it is returned',
  },
  placeJobField: {
    kind: 'waterfall',
    args: ['places', 'queue', 'path'],
    summary:
      'At boot, for each searchable field: return the places in stored data that contain its value, as lists of property names, or throw if it is not readable there',
  },
  afterJobsPurge: {
    kind: 'settle',
    args: ['queue', 'jobs'],
    summary: 'Jobs were removed with all their traces: remove what your plugin stores about them, too',
  },
  beforeJobRetry: {
    kind: 'gate',
    args: ['queue', 'jobId'],
    summary: 'A failed job is about to be retried by an operator, or replayed after a canary; deny to prevent it',
  },
  beforePayloadView: {
    kind: 'gate',
    args: ['view'],
    summary: 'The payload, result or log of a job is about to be shown, copied or searched; deny to prevent it',
  },
  redactPayload: {
    kind: 'waterfall',
    args: ['payload', 'queue'],
    summary: 'A payload or result that is about to be shown, after redaction by the option `redact`',
  },
} satisfies HookSpecs<QueueHooks>

declare module 'zin' {
  interface HookMap extends QueueHooks {}
}
