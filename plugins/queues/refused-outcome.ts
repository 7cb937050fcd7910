/**
 * Whether a consumer reports that the store refused the result of a job and has the job fail with this error instead, as of a parent with a
 * failed child. Its event `failed` tells the same.
 */
export function isRefusedOutcome(error: Error): boolean {
  return error.name === 'UnrecoverableError'
}
