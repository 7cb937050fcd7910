import { defineErrors, ZinError } from 'zin'
import type { Problem } from './record/problem.js'

export const workerErrors = defineErrors({
  WORKER_NOT_FOUND: { status: 404, message: (name: string) => `No worker is named "${name}"; GET /api/workers lists those there are` },
  WORKER_EXISTS: {
    status: 409,
    message: (name: string) => `A worker named "${name}" exists already; choose another name, or remove that one first`,
  },
  WORKER_INACTIVE: {
    status: 410,
    message: (name: string) => `Worker "${name}" has activeStatus false: it takes no jobs and cannot be started`,
  },
  WORKER_CHANGED: { status: 409, message: (name: string) => `Worker "${name}" was changed by others at the same time; try again` },
  WORKER_START_DENIED: {
    status: 409,
    message: (name: string, plugin: string, reason: string) => `Worker "${name}" may not start: ${reason} (said by ${plugin})`,
  },
  JOB_NOT_FOUND: {
    status: 404,
    message: (name: string, queue: string) =>
      `Worker "${name}" has no job of that id in its queue "${queue}"; finished jobs are kept for a while only`,
  },
  QUEUE_CONNECTION_ERROR: {
    status: 503,
    message: (what: string, why: string) =>
      `${what}: the queue store cannot be reached (${why}); see REDIS_URL and the state of the server`,
  },
  WORKER_STORE_UNAVAILABLE: {
    status: 503,
    message: (driver: string, why: string) => `The worker records in ${driver} cannot be reached: ${why}`,
  },
  MISSING_PROCESSOR_SPEC: {
    status: 400,
    message: (name: string) => `Worker "${name}" has no processor: give a file path, or register one under that name when the app boots`,
  },
  INVALID_PROCESSOR_PATH: { status: 400, message: (path: string, why: string) => `The processor "${path}" cannot be used: ${why}` },
  PROCESSOR_LOAD_FAILED: { status: 422, message: (path: string, why: string) => `The processor "${path}" did not load: ${why}` },
  INVALID_PERSISTENCE_CONFIG: { status: 400, message: (what: string) => `"infrastructure.persistence": ${what}` },
  WORKERS_MISCONFIGURED: { status: 500, message: (what: string) => `workers: ${what}` },
})

/** The answer to an invalid input: the code and text of its first fault, all of them in `details`. */
export function refuse(problems: readonly Problem[]): void {
  const [first] = problems
  if (first !== undefined) throw new ZinError(first.code, first.message, { status: 400, details: problems })
}
