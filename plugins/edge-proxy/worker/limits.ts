import { DEFAULT_MAX_BODY_BYTES, defaultLimits } from 'zin/plugins/sql-wire'

/** Limits of the edge proxy. D1 takes 100 parameters in a statement. */
export const edgeLimits = {
  ...defaultLimits,
  maxParams: 100,
  maxBodyBytes: DEFAULT_MAX_BODY_BYTES,
  maxRows: 10_000,
  maxResponseBytes: 4 * 1024 * 1024,
  timeoutMs: 10_000,
  maxTimeoutMs: 30_000,
  /** How far a timestamp may differ from the current time. */
  windowMs: 60_000,
  /** How long an idempotency key is known. */
  receiptMs: 86_400_000,
} as const
