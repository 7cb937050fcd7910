import type { ZinError } from 'zin'

/** A failed statement with the server's error fields, in the shape that node-postgres throws. */
export class StatementError extends Error {
  override readonly name = 'StatementError'
  readonly code: string | undefined
  /** BullMQ's SQL functions put their error code here. */
  readonly detail: string | undefined

  constructor(facts: { readonly message?: string; readonly code?: string; readonly detail?: string }) {
    super(facts.message ?? 'the statement failed')
    this.code = facts.code
    this.detail = facts.detail
  }
}

/**
 * The store does not run a statement now, and may later. BullMQ takes this code for that of a lost connection: its workers wait and repeat the
 * command, so that the outcome of a job that has run is not lost.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
  readonly code = 'ECONNREFUSED'
  /** For a request whose handler uses BullMQ directly. */
  readonly status = 503
  readonly expose = false
  /** What callers of the queues get. */
  readonly shown: ZinError

  constructor(shown: ZinError) {
    super(shown.message, { cause: shown })
    this.shown = shown
  }
}
