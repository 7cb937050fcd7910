import { localError, type ProxyError } from './proxy-error.js'

/** Ends a call at its deadline or by the caller's signal. */
export interface Deadline {
  /** Aborts at the deadline or with the caller's signal. */
  readonly signal: AbortSignal
  /** Returns the remaining time, in ms. */
  left(): number
  /** Returns the abort reason if the call has ended, otherwise `error`. */
  reasonOr(error: unknown): unknown
  /** Waits; rejects if the call ends. */
  sleep(ms: number): Promise<void>
  /** Removes the timer and the listener. */
  done(): void
}

/** Creates a deadline `timeoutMs` from now. Throws the reason of an already aborted signal. */
export function deadlineOf(timeoutMs: number, given: AbortSignal | undefined): Deadline {
  given?.throwIfAborted()
  const controller = new AbortController()
  const until = performance.now() + timeoutMs
  const late = (): ProxyError => localError('DEADLINE_EXCEEDED', `No response from the proxy within ${timeoutMs} ms`, { retryable: true })
  const timer = setTimeout(() => controller.abort(late()), timeoutMs)
  const onAbort = (): void => controller.abort(given?.reason)
  given?.addEventListener('abort', onAbort, { once: true })
  const { signal } = controller
  return {
    signal,
    left: () => Math.max(0, until - performance.now()),
    reasonOr: (error) => (signal.aborted ? signal.reason : error),
    sleep: (ms) =>
      new Promise((resolve, reject) => {
        const end = (): void => {
          clearTimeout(waiting)
          reject(signal.reason)
        }
        const waiting = setTimeout(() => {
          signal.removeEventListener('abort', end)
          resolve()
        }, ms)
        signal.addEventListener('abort', end, { once: true })
      }),
    done() {
      clearTimeout(timer)
      given?.removeEventListener('abort', onAbort)
    },
  }
}
