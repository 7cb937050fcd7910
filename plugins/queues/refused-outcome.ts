/**
 * Whether an error of a consumer only reports that the store refused the result of a job, so that the job fails with this error instead, such
 * as a parent with a failed child. The consumer also reports it as the event `failed`.
 */
export function isRefusedOutcome(error: Error): boolean {
  return error.name === 'UnrecoverableError'
}
