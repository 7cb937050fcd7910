import { defineErrors, ZinError } from 'zin'
import type { Problem } from './record/problem.js'

export const workerErrors = defineErrors({
  WORKER_NOT_FOUND: {
    status: 404,
    message: (name: string) => `No worker is named "${name}"; GET /api/workers lists those there are`,
    when: 'No worker has that name',
    fix: 'Use a name that `GET /api/workers` lists',
  },
  WORKER_EXISTS: {
    status: 409,
    message: (name: string) => `A worker named "${name}" exists already; choose another name, or remove that one first`,
    when: 'The name is taken',
    fix: 'Choose another name, or remove that worker first',
  },
  WORKER_INACTIVE: {
    status: 410,
    message: (name: string) => `Worker "${name}" has activeStatus false: it takes no jobs and cannot be started`,
    when: 'The worker has `activeStatus` false',
    fix: 'Set `activeStatus` to true',
  },
  WORKER_CHANGED: {
    status: 409,
    message: (name: string) => `Worker "${name}" was changed by others at the same time; try again`,
    when: 'Others changed the worker at the same time, again and again, or its queue while a schedule was added',
    fix: 'Try again',
  },
  WORKER_HAS_SCHEDULES: {
    status: 409,
    message: (name: string, queue: string) =>
      `Worker "${name}" has schedules, which add their jobs to its queue "${queue}"; remove them, change queueName, and add them again`,
    when: '`queueName` is to change while there are schedules, which add their jobs to the queue',
    fix: 'Remove the schedules, change it, and add them again',
  },
  WORKER_CHANGE_DENIED: {
    status: 409,
    message: (action: string, worker: string, plugin: string, reason: string) =>
      `"${action}" of worker "${worker}" was refused by the plugin "${plugin}": ${reason}`,
    when: 'A listener of `beforeWorkerChange` denied the change',
    fix: 'Do what its reason says',
  },
  WORKER_CHANGE_FORBIDDEN: {
    status: 403,
    message: (action: string, worker: string, plugin: string, reason: string) =>
      `You may not do "${action}" on worker "${worker}", says the plugin "${plugin}": ${reason}`,
    when: 'A listener of `beforeWorkerChange` denied the change to this caller',
    fix: 'Ask somebody with the permission that its reason names',
  },
  WORKER_START_DENIED: {
    status: 409,
    message: (name: string, plugin: string, reason: string) => `Worker "${name}" may not start: ${reason} (said by ${plugin})`,
    when: 'A listener of `beforeWorkerStart` denied the start',
    fix: 'Do what its reason says',
  },
  WORKER_STOPPED: {
    status: 409,
    message: (name: string, state: 'stopped' | 'FAILED') =>
      `Worker "${name}" is ${state}: only one that runs can be paused or resumed; start it first`,
    when: 'Pause or resume of a worker that is stopped or FAILED',
    fix: 'Start it first',
  },
  OPERATION_NOT_FOUND: {
    status: 404,
    message: (name: string) => `Worker "${name}" has no operation of that id; operations are kept for 24 hours`,
    when: 'The worker has no operation of that id',
    fix: 'Look within 24 hours',
  },
  VERSION_NOT_FOUND: {
    status: 404,
    message: (name: string, version: string) =>
      `Worker "${name}" has no version ${version}; GET /api/workers/${name}/versions lists those there are`,
    when: 'The worker has no such version',
    fix: 'Use one that `GET /api/workers/<name>/versions` lists',
  },
  VERSION_EXISTS: {
    status: 409,
    message: (name: string, version: string) =>
      `Worker "${name}" has a version ${version} already, and versions do not change; choose another number`,
    when: 'The version number is taken',
    fix: 'Choose another number',
  },
  VERSIONING_OFF: {
    status: 409,
    message: (name: string) => `Worker "${name}" has "features.versioning" false, so it keeps its version; set it to true first`,
    when: '`features.versioning` of the worker is false',
    fix: 'Set it to true first',
  },
  TOO_MANY_VERSIONS: {
    status: 409,
    message: (name: string, most: number) => `Worker "${name}" has ${most} versions, and more are not kept; create a new worker`,
    when: 'The worker has 100 versions',
    fix: 'Create a new worker',
  },
  VERSIONS_ROUTED: {
    status: 409,
    message: (name: string) => `The jobs of worker "${name}" are routed already: remove that route before adding another one`,
    when: 'The jobs of the worker are routed between versions already',
    fix: 'Remove that route before adding another one',
  },
  TOO_MANY_CANDIDATES: {
    status: 409,
    message: (name: string, most: number) => `Worker "${name}" can have ${most} candidates at most beside its active version`,
    when: 'The worker has as many candidates beside its active version as it may have',
    fix: 'Remove one first',
  },
  VERSION_UNHEALTHY: {
    status: 409,
    message: (name: string, version: string, why: string) => `Version ${version} of worker "${name}" is not healthy: ${why}`,
    when: 'The health check of a version failed; `details.operation` tells which nodes run it',
    fix: 'Correct the version, or activate another',
  },
  JOB_NOT_FOUND: {
    status: 404,
    message: (name: string, queue: string) =>
      `Worker "${name}" has no job of that id in its queue "${queue}"; finished jobs are kept for a while only`,
    when: 'The queue of the worker has no job of that id',
    fix: 'Finished jobs are kept for a while only',
  },
  JOB_FINISHED: {
    status: 409,
    message: (name: string, status: string) =>
      `The job of worker "${name}" is ${status} already: only a job that waits or runs can be cancelled`,
    when: 'The job has ended already',
    fix: 'Only a job that waits or runs can be cancelled',
  },
  JOB_SCHEDULED: {
    status: 409,
    message: (name: string, schedule: string) =>
      `The job was added by the schedule "${schedule}" of worker "${name}" and does not run yet; remove or change the schedule instead`,
    when: 'The job belongs to a schedule and does not run yet',
    fix: 'Remove or change the schedule',
  },
  JOB_TIMEOUT: {
    status: 504,
    message: (name: string, id: string, ms: number) => `Job ${id} of worker "${name}" ran longer than its timeout of ${ms} ms`,
    when: 'Of an attempt: it took longer than its `timeout`',
    fix: 'Make the processor faster, or raise the timeout',
  },
  JOB_LOCK_LOST: {
    status: 409,
    message: (name: string, id: string) =>
      `Job ${id} of worker "${name}" lost its lock, so another process may run it: this attempt was aborted and its outcome is not used`,
    when: "Of an attempt: its node did not renew the job's lock in time, and another may run the job",
    fix: 'Do not block the event loop; raise `jobLockMs`',
  },
  SCHEDULE_NOT_FOUND: {
    status: 404,
    message: (name: string) => `Worker "${name}" has no schedule of that id; GET /api/workers/${name}/schedules lists those there are`,
    when: 'The worker has no schedule of that id',
    fix: 'Use one that `GET /api/workers/<name>/schedules` lists',
  },
  SCHEDULE_BUSY: {
    status: 409,
    message: (name: string, id: string) =>
      `The schedule "${id}" of worker "${name}" was not changed: its job of that time exists already; try again later`,
    when: 'The job of the schedule for that time exists already',
    fix: 'Try again later',
  },
  QUEUE_CONNECTION_ERROR: {
    status: 503,
    message: (what: string, why: string) =>
      `${what}: the queue store cannot be reached (${why}); see REDIS_URL and the state of the server`,
    when: 'The queue store did not respond in time',
    fix: 'Check Redis and `REDIS_URL`; requests may be tried again',
  },
  WORKER_STORE_UNAVAILABLE: {
    status: 503,
    message: (driver: string, why: string) => `The worker records in ${driver} cannot be reached: ${why}`,
    when: 'The store of the records cannot be reached',
    fix: 'Check that store; requests may be tried again',
  },
  WORKER_CLUSTER_UNAVAILABLE: {
    status: 503,
    message: (store: string, why: string) =>
      `What the processes of the app know of each other is in ${store}, which cannot be reached: ${why}`,
    when: 'The store of what nodes know of each other cannot be reached',
    fix: 'Check that store; requests may be tried again',
  },
  MISSING_PROCESSOR_SPEC: {
    status: 400,
    message: (name: string) => `Worker "${name}" has no processor: give a file path, or register one under that name when the app boots`,
    when: 'No processor is given or registered',
    fix: 'Give a file path, or register one when the app boots',
  },
  INVALID_PROCESSOR_PATH: {
    status: 400,
    message: (path: string, why: string) => `The processor "${path}" cannot be used: ${why}`,
    when: 'The path of a processor cannot be used: it is not there, or not under a root',
    fix: 'Give a file under a processor root',
  },
  PROCESSOR_LOAD_FAILED: {
    status: 422,
    message: (path: string, why: string) => `The processor "${path}" did not load: ${why}`,
    when: 'The code of a processor throws, or exports no function',
    fix: 'Correct the code',
  },
  PROCESSOR_DIED: {
    status: 500,
    message: (worker: string, job: string, kind: string, how: string) =>
      `The ${kind} in which worker "${worker}" ran job "${job}" ended before the job did: ${how}`,
    when: 'Of an attempt: the thread or process of the processor ended',
    fix: 'Look at its output; raise `sandbox.memoryMb` if it ran out of memory',
  },
  PROCESSOR_KILLED: {
    status: 500,
    message: (worker: string, job: string, kind: string, ms: number) =>
      `Job "${job}" of worker "${worker}" was cancelled and went on for ${ms} ms, so its ${kind} was ended; make its processor listen to its signal`,
    when: 'Of an attempt: it was cancelled, did not end, and was killed',
    fix: 'Make the processor listen to its signal',
  },
  PROCESSOR_CLOSED: {
    status: 503,
    message: (worker: string) => `The processor of worker "${worker}" takes no more jobs: the worker stops`,
    when: 'Of an attempt: its worker stops',
    fix: 'None: the job is run again',
  },
  PROCESSOR_NOT_ISOLATED: {
    status: 400,
    message: (worker: string, isolation: string) =>
      `Worker "${worker}" has isolation "${isolation}", and its processor is a function, which runs in this process only; give a file path, or use isolation "inline"`,
    when: 'A function is to run in a thread or process of its own',
    fix: 'Give a file path, or use isolation `inline`',
  },
  PROCESSOR_NOT_PREBUILT: {
    status: 400,
    message: (processor: string) =>
      `The processor "${processor}" is not part of this build, and nothing is loaded on an edge runtime; pass it to registerPrebuilt with exactly this text`,
    when: 'On an edge runtime: the processor is not part of the build',
    fix: 'Pass it to `registerPrebuilt`',
  },
  INVALID_PROCESSOR_URL: {
    status: 400,
    message: (url: string, why: string) => `The processor URL "${url}" cannot be used: ${why}`,
    when: 'The URL of a processor cannot be used',
    fix: 'Correct what the message names',
  },
  INVALID_PROCESSOR_URL_HOST: {
    status: 400,
    message: (host: string) => `Processors may not be fetched from "${host}": it is not in REMOTE_PROCESSOR_ALLOWLIST`,
    when: 'The host of the URL is not in `REMOTE_PROCESSOR_ALLOWLIST`',
    fix: 'Add it there',
  },
  INVALID_PROCESSOR_URL_EXPORT: {
    status: 422,
    message: (url: string) => `The processor at "${url}" exports no function named ZinTrustProcessor`,
    when: 'The code behind the URL exports no function',
    fix: 'Export a function named `ZinTrustProcessor`',
  },
  PROCESSOR_PIN_REQUIRED: {
    status: 400,
    message: (url: string) =>
      `The processor URL "${url}" has no digest; in production it must end in #sha256-<base64 or hex of the file's SHA-256>`,
    when: 'In production: the URL has no digest',
    fix: 'End it in `#sha256-<digest>`',
  },
  PROCESSOR_PIN_MISMATCH: {
    status: 422,
    message: (url: string, found: string) =>
      `The processor at "${url}" has the SHA-256 ${found}, which is not the one it is pinned to; it was not used`,
    when: 'The code is not what was pinned',
    fix: 'Check the code, and pin its digest',
  },
  PROCESSOR_FETCH_SIZE_EXCEEDED: {
    status: 422,
    message: (url: string, limit: number) => `The processor at "${url}" is larger than ${limit} bytes (PROCESSOR_FETCH_MAX_SIZE)`,
    when: 'The code is larger than `PROCESSOR_FETCH_MAX_SIZE`',
    fix: 'Make it smaller, or raise the limit',
  },
  PROCESSOR_FETCH_FAILED: {
    status: 502,
    message: (url: string, why: string) => `The processor at "${url}" was not fetched: ${why}`,
    when: 'The URL was not fetched',
    fix: 'Try again; look at its host',
  },
  INVALID_HEALTH_CHECK: {
    status: 400,
    message: (path: string, why: string) => `The health check "${path}" cannot be used: ${why}`,
    when: 'The path of a health check cannot be used',
    fix: 'Give a file under a processor root',
  },
  INVALID_PERSISTENCE_CONFIG: {
    status: 400,
    message: (what: string) => `"infrastructure.persistence": ${what}`,
    when: 'The record names a store or place that the app does not have',
    fix: 'Correct what the message names',
  },
  WORKER_FEATURE_INVALID: {
    status: 500,
    message: (plugin: string, feature: string, what: string) => `${plugin}: the worker feature "${feature}" cannot be offered: ${what}`,
    when: 'At boot: a plugin declares or offers a feature that is malformed, or that another one has',
    fix: 'Correct the declaration of the plugin',
  },
  WORKER_EXTENSION_UNREADABLE: {
    status: 500,
    message: (worker: string, plugin: string, why: string) =>
      `The part of the plugin "${plugin}" in the record of worker "${worker}" cannot be read: ${why}; write it anew with PUT /api/workers/${worker}`,
    when: "A plugin's part of a record is of a later version, or does not match its schema",
    fix: 'Write it anew with `PUT /api/workers/<name>`',
  },
  WORKERS_MISCONFIGURED: {
    status: 500,
    message: (what: string) => `workers: ${what}`,
    when: 'At boot: `WORKER_PERSISTENCE_DRIVER` needs what the app does not have',
    fix: 'Do what the message says',
  },
})

/** The answer to an invalid input: the code and text of its first fault, all of them in `details`. */
export function refusal(problems: readonly Problem[]): ZinError | undefined {
  const [first] = problems
  return first === undefined ? undefined : new ZinError(first.code, first.message, { status: 400, details: problems })
}

export function refuse(problems: readonly Problem[]): void {
  const error = refusal(problems)
  if (error !== undefined) throw error
}
