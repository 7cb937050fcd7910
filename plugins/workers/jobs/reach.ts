import { DeadlineError, messageOf, withDeadline, ZinError } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { workerErrors } from '../errors.js'

/**
 * Runs `work` on the queue store; `what` names the failed action in the error. `repeat` marks a change, and says how to repeat it if its
 * outcome is unknown.
 */
export type Reach = <T>(what: string, work: (queues: Queues) => Promise<T>, repeat?: string) => Promise<T>

/**
 * Converts a timeout, or an unavailable store, to 503 QUEUE_CONNECTION_ERROR, or to JOB_OUTCOME_UNKNOWN for a change that may have been made.
 *
 * @param timeout in ms; absent for work of several steps, each of which has the deadline of the queues.
 */
export function reachOf(queues: Queues, timeout?: number): Reach {
  return async (what, work, repeat) => {
    try {
      return await (timeout === undefined ? work(queues) : withDeadline(work(queues), timeout, `no response within ${timeout} ms`))
    } catch (error) {
      // After the deadline, the work goes on, and may still send the change.
      const late = error instanceof DeadlineError
      const unknown = late || (error instanceof ZinError && error.code === 'JOB_OUTCOME_UNKNOWN')
      const away = late || queues.isUnavailable(error)
      if (unknown && repeat !== undefined)
        throw workerErrors.JOB_OUTCOME_UNKNOWN(what, late ? error.message : 'the queue store did not confirm it', repeat)
      if (error instanceof ZinError && error.code === 'QUEUE_DISK_FULL') throw error
      throw away ? workerErrors.QUEUE_CONNECTION_ERROR(what, messageOf(error)) : error
    }
  }
}
