import { DEFAULT_MAX_BODY_BYTES, defaultLimits } from 'zin/plugins/sql-wire'

/** Limits of the edge proxy. D1 allows 100 parameters per statement. */
export const edgeLimits = {
  ...defaultLimits,
  maxParams: 100,
  maxBodyBytes: DEFAULT_MAX_BODY_BYTES,
  maxRows: 10_000,
  maxResponseBytes: 4 * 1024 * 1024,
  timeoutMs: 10_000,
  maxTimeoutMs: 30_000,
  /** Largest allowed difference between a timestamp and the clock. */
  windowMs: 60_000,
  /** How long receipts are kept. */
  receiptMs: 86_400_000,
} as const
