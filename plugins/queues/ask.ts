import { DeadlineError, messageOf, withDeadline } from 'zin'
import type { QueueBackend } from './backend.js'
import type { JobOptions } from './contract.js'
import { StoreUnavailableError } from './embedded/statement-errors.js'
import { queueErrors } from './errors.js'
import { isWrongType } from './wrong-type.js'

/** Deadline of a call; slightly longer than that of a Redis command. */
const callMs = 5500

/** Runs a command on the store. `repeat` marks a change, and says how to repeat it if its outcome is unknown. */
export type Ask = <T>(command: () => Promise<T>, repeat?: string) => Promise<T>

/** For a change that makes no difference when it is made twice. */
export const repeatable = 'Repeat it: a change that was made is not made twice'

/** How to repeat adding jobs whose outcome is unknown. */
export function repeatAdding(jobs: readonly Pick<JobOptions, 'jobId'>[]): string {
  return jobs.every(({ jobId }) => jobId !== undefined)
    ? 'Repeat it with the same jobId: a job that was added is not added twice'
    : 'Repeating it may add the job twice; jobs with a jobId can be repeated'
}

/** An error that means "unavailable" becomes QUEUE_CONNECTION_ERROR, and JOB_OUTCOME_UNKNOWN for a change that may have been made. */
export function askOf(opened: () => QueueBackend): Ask {
  return async (command, repeat) => {
    const { ready, isUnavailable, isUnsent, where } = opened()
    let sent = false
    let late = false
    const onLate = (): Error => {
      late = true
      return new DeadlineError(`no response within ${callMs} ms`)
    }
    try {
      await ready()
      sent = true
      return await withDeadline(command(), callMs, onLate)
    } catch (error) {
      if (!late && !isUnavailable(error)) throw isWrongType(error) ? queueErrors.QUEUE_BROKEN(messageOf(error)) : error
      if (error instanceof StoreUnavailableError) throw error.shown
      if (repeat === undefined || !sent || isUnsent(error)) throw queueErrors.QUEUE_CONNECTION_ERROR(where, messageOf(error))
      throw queueErrors.JOB_OUTCOME_UNKNOWN(where, messageOf(error), repeat)
    }
  }
}
