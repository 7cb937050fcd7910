import { defineErrors } from 'zin'
import { processorErrors } from './processors/errors.js'
import { inputErrors } from './record/errors.js'

export { refusal, refuse } from './record/errors.js'

const managementErrors = defineErrors({
  WORKER_NOT_FOUND: {
    status: 404,
    message: (name: string) => `Worker "${name}" not found; GET /api/workers lists all workers`,
    when: 'No worker has that name',
    fix: 'Use a name that `GET /api/workers` lists',
  },
  WORKER_EXISTS: {
    status: 409,
    message: (name: string) => `A worker named "${name}" already exists; choose another name, or remove that worker first`,
    when: 'The name is taken',
    fix: 'Choose another name, or remove that worker first',
  },
  WORKER_DECLARED: {
    status: 409,
    message: (name: string, by: string) => `Worker "${name}" is already declared by ${by}; declare it once`,
    when: 'A worker is declared twice in the code of one app',
    fix: 'Declare it once',
  },
  WORKER_NOT_DECLARED: {
    message: (name: string, place: string, error: Error) =>
      `The declaration of worker "${name}" (${place}) could not be applied: ${error.message}`,
    cause: (_name: string, _place: string, error: Error) => error,
    when: 'A worker that code declares could not be created or changed; the readiness check `workers` and the log show it',
    fix: 'Fix the cause in the message; a store that was unreachable is tried again with every poll',
  },
  WORKER_INACTIVE: {
    status: 410,
    message: (name: string) => `Worker "${name}" has activeStatus false: it takes no jobs and cannot be started`,
    when: 'The worker has `activeStatus` false',
    fix: 'Set `activeStatus` to true',
  },
  WORKER_CHANGED: {
    status: 409,
    message: (name: string) => `Worker "${name}" was changed concurrently; try again`,
    when: 'The worker was changed concurrently too many times, or its queue changed while a schedule was added',
    fix: 'Try again',
  },
  WORKER_HAS_SCHEDULES: {
    status: 409,
    message: (name: string, queue: string) =>
      `Worker "${name}" has schedules, which add their jobs to its queue "${queue}"; remove them, change queueName, and add them again`,
    when: 'An update changes `queueName` while the worker has schedules, which add their jobs to the queue',
    fix: 'Remove the schedules, change `queueName`, and add them again',
  },
  WORKER_CHANGE_DENIED: {
    status: 409,
    message: (action: string, worker: string, plugin: string, reason: string) =>
      `"${action}" of worker "${worker}" was refused by the plugin "${plugin}": ${reason}`,
    when: 'A listener of `beforeWorkerChange` denied the change',
    fix: 'Follow the reason in the message',
  },
  WORKER_CHANGE_FORBIDDEN: {
    status: 403,
    message: (action: string, worker: string, plugin: string, reason: string) =>
      `"${action}" of worker "${worker}" was forbidden by the plugin "${plugin}": ${reason}`,
    when: 'A listener of `beforeWorkerChange` denied the change to this caller',
    fix: 'Use an account with the permission that the reason names',
  },
  WORKER_START_DENIED: {
    status: 409,
    message: (name: string, plugin: string, reason: string) => `Worker "${name}" may not start: ${reason} (denied by ${plugin})`,
    when: 'A listener of `beforeWorkerStart` denied the start',
    fix: 'Follow the reason in the message',
  },
  WORKER_STOPPED: {
    status: 409,
    message: (name: string, state: 'stopped' | 'FAILED') =>
      `Worker "${name}" is ${state}: only a running worker can be paused or resumed; start it first`,
    when: 'Pause or resume of a worker that is stopped or FAILED',
    fix: 'Start it first',
  },
  NODE_NOT_FOUND: {
    status: 404,
    message: (id: string, ended: boolean) => `Node "${id}" ${ended ? 'has ended' : 'not found'}; GET /api/nodes lists the nodes of the app`,
    when: 'No live node has that id',
    fix: 'Use an id that `GET /api/nodes` lists as alive',
  },
  NODE_NOT_ANSWERING: {
    status: 503,
    message: (id: string, ms: number) =>
      `Node "${id}" did not confirm within ${ms} ms; it may be blocked, and may still follow: look at GET /api/nodes, or repeat the request`,
    when: 'A node did not confirm in time that it drains, or that it takes jobs again',
    fix: 'Repeat the request; if that does not help, look at the log of the node',
  },
  OPERATION_NOT_FOUND: {
    status: 404,
    message: (name: string) => `Worker "${name}" has no operation with that id; operations are kept for 24 hours`,
    when: 'The worker has no operation with that id',
    fix: 'Query it within 24 hours',
  },
  VERSION_NOT_FOUND: {
    status: 404,
    message: (name: string, version: string) =>
      `Worker "${name}" has no version ${version}; GET /api/workers/${name}/versions lists all versions`,
    when: 'The worker has no such version',
    fix: 'Use one that `GET /api/workers/<name>/versions` lists',
  },
  VERSION_EXISTS: {
    status: 409,
    message: (name: string, version: string) =>
      `Worker "${name}" already has a version ${version}, and versions cannot be changed; choose another number`,
    when: 'The version number is taken',
    fix: 'Choose another number',
  },
  VERSION_REFUSED: {
    status: 409,
    message: (name: string, version: string, { by, reason }: { readonly by: string; readonly reason: string }) =>
      `Version ${version} of worker "${name}" was refused by the plugin "${by}": ${reason}; register a fixed version, or activate this one with ?force=true`,
    when: 'A plugin refused the version; `GET /api/workers/<name>/versions` shows why',
    fix: 'Register a fixed version, or activate it with `?force=true`',
  },
  VERSIONING_OFF: {
    status: 409,
    message: (name: string) => `"features.versioning" of worker "${name}" is false, so its version cannot change; set it to true first`,
    when: '`features.versioning` of the worker is false',
    fix: 'Set it to true',
  },
  TOO_MANY_VERSIONS: {
    status: 409,
    message: (name: string, most: number) => `Worker "${name}" already has ${most} versions, the maximum; create a new worker`,
    when: 'The worker has 100 versions',
    fix: 'Create a new worker',
  },
  VERSIONS_ROUTED: {
    status: 409,
    message: (name: string) => `The jobs of worker "${name}" are already routed; remove that route before adding another one`,
    when: 'The worker already has a version route',
    fix: 'Remove that route before adding another one',
  },
  TOO_MANY_CANDIDATES: {
    status: 409,
    message: (name: string, most: number) => `Worker "${name}" can have at most ${most} candidates besides its active version`,
    when: 'The worker already has the maximum number of candidates',
    fix: 'Remove one first',
  },
  VERSION_UNHEALTHY: {
    status: 409,
    message: (name: string, version: string, why: string) => `Version ${version} of worker "${name}" is not healthy: ${why}`,
    when: 'The health check of a version failed; `details.operation` lists the nodes that run it',
    fix: 'Fix the version, or activate another one',
  },
  JOB_NOT_FOUND: {
    status: 404,
    message: (name: string, queue: string) =>
      `Worker "${name}" has no job with that id in its queue "${queue}"; finished jobs are kept for a limited time`,
    when: 'The queue of the worker has no job with that id',
    fix: 'Check the id; finished jobs are kept for a limited time',
  },
  JOB_FINISHED: {
    status: 409,
    message: (name: string, status: string) =>
      `The job of worker "${name}" is already ${status}; only a waiting or running job can be cancelled`,
    when: 'The job has already ended',
    fix: 'Cancel only waiting or running jobs',
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
    when: 'Of an attempt: it ran longer than its `timeout`',
    fix: 'Make the processor faster, or raise the timeout',
  },
  JOB_LOCK_LOST: {
    status: 409,
    message: (name: string, id: string) =>
      `Job ${id} of worker "${name}" lost its lock, so another node may run it: this attempt was aborted and its outcome is discarded`,
    when: "Of an attempt: its node did not renew the job's lock in time, and another may run the job",
    fix: 'Do not block the event loop; raise `jobLockMs`',
  },
  WORKER_QUEUE_BROKEN: {
    status: 503,
    message: (name: string, reason: string) =>
      `Worker "${name}" cannot take or finish jobs: another program has overwritten a key of its queue (${reason})`,
    when: 'A key of the queue has another type than the queue gave it; shown in the status of the worker',
    fix: 'Find the key with `TYPE` in Redis, and delete it or restore it from a backup',
  },
  WORKER_NOT_FETCHING: {
    status: 503,
    message: (name: string, waiting: number, seconds: number) =>
      `Worker "${name}" took no job for ${seconds} s although ${waiting} wait and it has idle slots: it fetches over new connections now`,
    when: 'In the status of a worker: the watchdog found that it takes no jobs, and replaced its consumer',
    fix: 'If it recurs, check the connection to the queue store, and report it with the log of the node',
  },
  SCHEDULE_NOT_FOUND: {
    status: 404,
    message: (name: string) => `Worker "${name}" has no schedule with that id; GET /api/workers/${name}/schedules lists all schedules`,
    when: 'The worker has no schedule with that id',
    fix: 'Use one that `GET /api/workers/<name>/schedules` lists',
  },
  SCHEDULE_BUSY: {
    status: 409,
    message: (name: string, id: string) =>
      `The schedule "${id}" of worker "${name}" was not changed: its job for that time already exists; try again later`,
    when: 'The job of the schedule for that time already exists',
    fix: 'Try again later',
  },
  QUEUE_CONNECTION_ERROR: {
    status: 503,
    message: (what: string, why: string) => `${what}: the queue store cannot be reached, or refuses to write (${why})`,
    when: 'The queue store did not respond in time',
    fix: 'Check the store of the queues: Redis and `REDIS_URL`, or the data directory; requests can be retried',
  },
  JOB_OUTCOME_UNKNOWN: {
    status: 503,
    message: (what: string, why: string, repeat: string) => `${what} for certain (${why}). ${repeat}`,
    when: 'A change of jobs was sent to the queue store, which did not confirm it in time: it may have been made',
    fix: 'Repeat it as the message says: an added job with the same `jobId`, any other change as it is',
  },
  WORKER_STORE_UNAVAILABLE: {
    status: 503,
    message: (driver: string, why: string) => `The worker records in ${driver} cannot be reached: ${why}`,
    when: 'The store of the records cannot be reached',
    fix: 'Check that store; requests can be retried',
  },
  WORKER_CLUSTER_UNAVAILABLE: {
    status: 503,
    message: (store: string, why: string) => `The shared state of the nodes in ${store} cannot be reached: ${why}`,
    when: 'The store of the shared state of the nodes cannot be reached',
    fix: 'Check that store; requests can be retried',
  },
  WORKER_CHANGE_UNCONFIRMED: {
    status: 503,
    message: (name: string, why: string) =>
      `The change of worker "${name}" is stored, but the nodes could not be notified: ${why}. They apply it once they can reach that store again`,
    when: 'A change of a worker was stored, and the store of the shared state failed before the nodes had applied it',
    fix: 'Check that store; the change need not be repeated',
  },
  INVALID_PERSISTENCE_CONFIG: {
    status: 400,
    message: (what: string) => `"infrastructure.persistence": ${what}`,
    when: 'The record names a store or location that is not configured',
    fix: 'Fix the part that the message names',
  },
  WORKER_FEATURE_INVALID: {
    status: 500,
    message: (plugin: string, feature: string, what: string) => `${plugin}: the worker feature "${feature}" cannot be offered: ${what}`,
    when: 'At boot: a plugin declares or offers a feature that is malformed or belongs to another plugin',
    fix: 'Fix the declaration in the plugin',
  },
  WORKER_EXTENSION_UNREADABLE: {
    status: 500,
    message: (worker: string, plugin: string, why: string) =>
      `The data of the plugin "${plugin}" in the record of worker "${worker}" cannot be read: ${why}; replace it with PUT /api/workers/${worker}`,
    when: 'The data of a plugin in a record has a later version, cannot be upgraded, or does not match its schema',
    fix: 'Replace it with `PUT /api/workers/<name>`',
  },
  WORKERS_MISCONFIGURED: {
    status: 500,
    message: (what: string) => `workers: ${what}`,
    when: '`WORKER_PERSISTENCE_DRIVER` (at boot) or `zin migrate:worker` needs a plugin or setting that the app does not have',
    fix: 'Follow the message',
  },
})

/** Whether an error in the status of a worker says that it takes or finishes no jobs. */
export const isStuckError = (code: string | undefined): boolean => code === 'WORKER_NOT_FETCHING' || code === 'WORKER_QUEUE_BROKEN'

export const workerErrors = { ...managementErrors, ...processorErrors, ...inputErrors }
