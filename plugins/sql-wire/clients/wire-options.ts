import type { BatchOptions } from '../wire.js'
import type { BatchCallOptions } from './contract.js'

/** Returns the time limit for the proxy: slightly shorter than the caller's deadline, so that the outcome is known. */
export function serverTimeoutMs(timeoutMs: number): number {
  return Math.max(1, Math.floor(timeoutMs - Math.min(500, timeoutMs / 10)))
}

/** Converts the options of a call to wire options; generates the idempotency key for `true`. */
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
