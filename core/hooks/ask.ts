import type { Clock } from '../util/clock.js'
import { isThenable } from '../util/thenable.js'
import { hookFailed, hookTimeout, toError } from './failure.js'
import type { Listener } from './listener.js'

/**
 * Calls a listener and returns its result, as a promise only if the listener returned one.
 * Throws or rejects with `ZIN_HOOK_FAILED`, or with `ZIN_HOOK_TIMEOUT` after the listener's deadline.
 */
export function ask(listener: Listener, args: readonly unknown[], clock: Clock): unknown {
  const startedAt = listener.sampleNext ? clock.monotonic() : undefined
  listener.calls++
  const { handler } = listener
  let result: unknown
  let waits: boolean
  try {
    result = handler(...args)
    waits = isThenable(result)
  } catch (thrown) {
    listener.errors++
    throw hookFailed(listener, toError(thrown))
  }
  if (waits) return resultInTime(listener, result, startedAt, clock)
  if (startedAt !== undefined) listener.sample(clock.monotonic() - startedAt)
  return result
}

/** Like {@link ask}, but turns a synchronous throw into a rejection. */
export async function askLater(listener: Listener, args: readonly unknown[], clock: Clock): Promise<unknown> {
  return ask(listener, args, clock)
}

function resultInTime(listener: Listener, result: unknown, startedAt: number | undefined, clock: Clock): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let waiting = true
    listener.pending++
    const timer = setTimeout(() => {
      stopWaiting()
      listener.timeouts++
      reject(hookTimeout(listener))
    }, listener.timeoutMs)
    const stopWaiting = (): void => {
      waiting = false
      listener.pending--
      clearTimeout(timer)
    }
    Promise.resolve(result).then(
      (value) => {
        if (!waiting) return
        stopWaiting()
        if (startedAt !== undefined) listener.sample(clock.monotonic() - startedAt)
        resolve(value)
      },
      (thrown: unknown) => {
        // A rejection after the deadline is ignored: the timeout was already reported.
        if (!waiting) return
        stopWaiting()
        listener.errors++
        reject(hookFailed(listener, toError(thrown)))
      },
    )
  })
}
