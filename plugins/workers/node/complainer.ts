import { type Clock, DeadlineError, type Logger, messageOf } from 'zin'
import type { Queues } from 'zin/plugins/queues'

/** An error that comes again within this time is not logged again, in ms. */
const quietMs = 30_000
/** Different texts that are remembered. */
const mostTexts = 20

/**
 * Logs the errors of a worker's connections, which try again for as long as the store is away: each text once in 30 s, and without a
 * stack when it only says that the store is away.
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
