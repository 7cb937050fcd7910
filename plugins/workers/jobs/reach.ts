import { messageOf, withDeadline, ZinError } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { workerErrors } from '../errors.js'

/** Runs `work` on the queue store; `what` names the failed action in the error. */
export type Reach = <T>(what: string, work: (queues: Queues) => Promise<T>) => Promise<T>

/**
 * Converts a timeout, or an unavailable store, to 503 QUEUE_CONNECTION_ERROR.
 *
 * @param timeout in ms; absent for work of several steps, each of which has the deadline of the queues.
 */
export function reachOf(queues: Queues, timeout?: number): Reach {
  return async (what, work) => {
    try {
      return await (timeout === undefined ? work(queues) : withDeadline(work(queues), timeout, `no response within ${timeout} ms`))
    } catch (error) {
      const away = queues.isUnavailable(error) || (error instanceof ZinError && error.code === 'ZIN_DEADLINE')
      throw away ? workerErrors.QUEUE_CONNECTION_ERROR(what, messageOf(error)) : error
    }
  }
}
