import { type Clock, DeadlineError, type Logger, messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'

/** An error that recurs within this time is not logged again, in ms. */
const quietMs = 30_000
/** Maximum number of different messages to remember. */
const mostTexts = 20

/**
 * Returns a function that logs connection errors of a worker, which recur for as long as the store is down: each message at most once in
 * 30 s, and without a stack trace if the error only means that the store is down.
 */
export function complainer(
  worker: string,
  { clock, log, queues }: { readonly clock: Clock; readonly log: Logger; readonly queues: Pick<Queues, 'isUnavailable'> },
): (error: unknown) => void {
  const loggedAt = new Map<string, number>()
  return (error) => {
    const text = messageOf(error)
    const now = clock.monotonic()
    if (now - (loggedAt.get(text) ?? Number.NEGATIVE_INFINITY) < quietMs) return
    if (loggedAt.size >= mostTexts) loggedAt.clear()
    loggedAt.set(text, now)
    const away = error instanceof DeadlineError || queues.isUnavailable(error)
    log.warn(away ? { worker } : { worker, err: error }, `worker "${worker}": ${text}`)
  }
}
