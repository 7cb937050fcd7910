import { localError, type ProxyError } from './proxy-error.js'

/** The end of a call: its deadline, or the caller's signal. */
export interface Deadline {
  /** Aborts at either. */
  readonly signal: AbortSignal
  /** ms. */
  left(): number
  /** What to throw when a step failed with `error`: the reason of the end when that came first. */
  reasonOr(error: unknown): unknown
  /** Waits; rejects at the end. */
  sleep(ms: number): Promise<void>
  /** Removes timer and listener. */
  done(): void
}

/** A deadline of `timeoutMs` from now. Throws the reason of a signal that is aborted already. */
export function deadlineOf(timeoutMs: number, given: AbortSignal | undefined): Deadline {
  given?.throwIfAborted()
  const controller = new AbortController()
  const until = performance.now() + timeoutMs
  const late = (): ProxyError => localError('DEADLINE_EXCEEDED', `No response of the proxy within ${timeoutMs} ms`, { retryable: true })
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
