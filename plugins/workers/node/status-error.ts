import { messageOf, ZinError } from 'zin'
import type { StatusError } from '../shared/contract.js'

/** An error as other nodes are told. */
export function statusError(error: unknown): StatusError {
  const { code, status } = error instanceof ZinError ? error : { code: 'WORKER_FAILED', status: 500 }
  return { code, message: messageOf(error), status }
}
