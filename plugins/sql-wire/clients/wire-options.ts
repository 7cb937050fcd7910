import type { BatchOptions } from '../wire.js'
import type { BatchCallOptions } from './contract.js'

/** The proxy stops a statement slightly before the caller gives up, so that its outcome is known. */
export function serverTimeoutMs(timeoutMs: number): number {
  return Math.max(1, Math.floor(timeoutMs - Math.min(500, timeoutMs / 10)))
}

/** Options of a call as they go over the wire; a key that was asked for is made here. */
export function wireOptions(given: BatchCallOptions): BatchOptions {
  const { maxRows, rowMode, idempotencyKey, mode, isolation, readOnly } = given
  return {
    ...(maxRows === undefined ? {} : { maxRows }),
    ...(rowMode === undefined ? {} : { rowMode }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey: idempotencyKey === true ? crypto.randomUUID() : idempotencyKey }),
    ...(mode === undefined ? {} : { mode }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(readOnly === undefined ? {} : { readOnly }),
  }
}
