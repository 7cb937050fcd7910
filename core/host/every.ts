import { messageOf } from '../errors.js'
import type { Logger } from '../log/types.js'
import type { Disposer } from '../util/disposer.js'

/** Runs `task` every `ms`; a run that is still going makes the next one wait for its turn. Unref'd. */
export function every(ms: number, task: () => void | Promise<void>, log: Logger): Disposer {
  let running = false
  const timer = setInterval(async () => {
    if (running) return
    running = true
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
