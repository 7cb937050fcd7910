import { isErrorLike } from './error-text.js'

/** Names of errors with which a processor or middleware defers its job; such an attempt is neither completed nor failed. */
const deferrals = new Set(['DelayedError', 'WaitingError', 'WaitingChildrenError', 'RateLimitError'])
const rateLimited = 'bullmq:rateLimitExceeded'

const longestMs = 365 * 86_400_000

/** Requests that the job is delayed; the wrapper of its attempt does so. */
export class DelayRequest extends Error {
  // BullMQ recognizes a deferred attempt by this name.
  override readonly name = 'DelayedError'
  readonly delayMs: number

  constructor(delayMs: number) {
    super(`delayed by ${delayMs} ms`)
    this.delayMs = delayMs
  }
}

/** Returns the error that delays a job. Throws a RangeError when `ms` is invalid. */
export function delayRequest(ms: number): DelayRequest {
  if (!Number.isInteger(ms) || ms < 0 || ms > longestMs) {
    throw new RangeError(`A job can be delayed by an integer from 0 to ${longestMs} ms, not by ${ms}`)
  }
  return new DelayRequest(ms)
}

/**
 * Whether an error means that a job was deferred (delayed, released, rate limited, or waiting for its children) rather than failed.
 *
 * @example
 * let failures = 0
 * ctx.services.workers.useJobMiddleware(
 *   async (_context, next) => {
 *     try {
 *       return await next()
 *     } catch (error) {
 *       if (!isDeferral(error)) failures++
 *       throw error
 *     }
 *   },
 *   { plugin: 'failure-counter' },
 * )
 */
export function isDeferral(error: unknown): boolean {
  return isErrorLike(error) && (deferrals.has(error.name) || error.message === rateLimited)
}
