import { messageOf, ZinError } from 'zin'
import type { StatusError } from '../shared/contract.js'

/** Converts an error to the form in which it is reported to other nodes. */
export function statusError(error: unknown): StatusError {
  const { code, status } = error instanceof ZinError ? error : { code: 'WORKER_FAILED', status: 500 }
  return { code, message: messageOf(error), status }
}
