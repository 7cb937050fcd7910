import { messageOf } from '../errors.js'
import type { Logger } from '../log/types.js'
import type { Disposer } from '../util/disposer.js'

/** How many periods, and how many ms, a run may take before a warning is logged. */
const patience = { periods: 10, ms: 60_000 }

/**
 * Runs `task` every `ms` on an unref'd timer. A run that is still going on skips the next one. One that does so for long may never end,
 * which would end the schedule, and is logged once.
 */
export function every(ms: number, task: () => void | Promise<void>, log: Logger): Disposer {
  const longest = Math.max(patience.periods, Math.ceil(patience.ms / ms))
  let running = false
  let skipped = 0
  const timer = setInterval(async () => {
    if (running) {
      skipped += 1
      if (skipped === longest) {
        log.warn(`a task that runs every ${ms} ms has not ended for ${skipped * ms} ms; until it ends, it does not run again`)
      }
      return
    }
    running = true
    skipped = 0
    try {
      await task()
    } catch (error) {
      log.error({ err: error }, `a task that runs every ${ms} ms failed: ${messageOf(error)}`)
    } finally {
      running = false
    }
  }, ms)
  timer.unref()
  return () => clearInterval(timer)
}
