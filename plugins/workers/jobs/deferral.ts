import { isErrorLike } from './error-text.js'

/** Thrown by a processor or a middleware to put its job off; an attempt that ends so is neither completed nor failed. */
const deferrals = new Set(['DelayedError', 'WaitingError', 'WaitingChildrenError', 'RateLimitError'])
const rateLimited = 'bullmq:rateLimitExceeded'

const longestMs = 365 * 86_400_000

/** Asks for the job to be put off; the wrapper of its attempt does that. */
export class DelayRequest extends Error {
  // BullMQ knows by the name that the attempt neither completed nor failed.
  override readonly name = 'DelayedError'
  readonly delayMs: number

  constructor(delayMs: number) {
    super(`put off for ${delayMs} ms`)
    this.delayMs = delayMs
  }
}

/** Throws for what is no time to put a job off. */
export function delayRequest(ms: number): DelayRequest {
  if (!Number.isInteger(ms) || ms < 0 || ms > longestMs) {
    throw new RangeError(`A job is put off for a whole number of ms from 0 to ${longestMs}, not for ${ms}`)
  }
  return new DelayRequest(ms)
}

/**
 * Whether an error says that a job was put off (delayed, put back, rate limited, or waits for its children) rather than failed.
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
