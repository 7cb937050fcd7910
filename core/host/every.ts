import { messageOf } from '../errors.js'
import type { Logger } from '../log/types.js'
import type { Disposer } from '../util/disposer.js'

/** Runs `task` every `ms`; runs never overlap. Unref'd. */
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
