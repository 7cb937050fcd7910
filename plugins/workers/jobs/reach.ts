import { messageOf, withDeadline, ZinError } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { workerErrors } from '../errors.js'

/** Does something with the queue store; `what` says, for the error, what was not done then. */
export type Reach = <T>(what: string, work: (queues: Queues) => Promise<T>) => Promise<T>

/**
 * A store that does not respond in time, in ms, or reports that it is unavailable, becomes 503 QUEUE_CONNECTION_ERROR. Without a time, for what
 * takes several steps, each step has the deadline that the queues give it.
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
