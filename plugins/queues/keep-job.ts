/**
 * Thrown by a listener of `restoreJobData` for a payload that cannot be read on this node now, but on another node or later, for example
 * because this node lacks the key. The job does not fail: it is delayed for a minute and run again, without using an attempt.
 *
 * @example
 * hooks.on('restoreJobData', () => {
 *   throw new KeepJobError('the key "2025" is not configured on this node')
 * })
 */
export class KeepJobError extends Error {
  override readonly name = 'KeepJobError'

  /** Whether an error is, or was caused by, a `KeepJobError`, up to five levels deep. */
  static isBehind(error: unknown): boolean {
    for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
      if (cause.name === 'KeepJobError') return true
    }
    return false
  }
}
