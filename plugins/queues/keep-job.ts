/**
 * Thrown by a listener of `restoreJobData` whose payload cannot be read here and now, but elsewhere or later, such as one whose key this
 * node does not have: the job does not fail, it is put off for a minute and tried again, and no attempt is used up.
 *
 * @example
 * hooks.on('restoreJobData', () => {
 *   throw new KeepJobError('the key "2025" is not configured on this node')
 * })
 */
export class KeepJobError extends Error {
  override readonly name = 'KeepJobError'

  /** Whether an error was caused by one, however often it was wrapped. */
  static isBehind(error: unknown): boolean {
    for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
      if (cause.name === 'KeepJobError') return true
    }
    return false
  }
}
