import type { Pending } from '../../pending.js'

/**
 * Remembers, where a restart or a flush does not reach, the nonces that a store's birth time cannot speak for: those of
 * requests dated ahead of the server's clock, which stay younger than a store that began after them.
 */
export interface Ledger {
  readonly driver: 'db' | 'file'
  /** Requests dated further ahead than this go through the ledger, in ms. */
  readonly aheadMs: number
  /** How far a store that lost its memory dates its birth ahead: `aheadMs`, and as much again for clocks that differ. In ms. */
  readonly marginMs: number
  /** True when it is new, so that no store can have lost anything. */
  begin(): Promise<boolean>
  has(key: string): Pending<boolean>
  /** Takes the nonce of a request with this timestamp until `until`, both ms since 1970; true for exactly one caller. */
  claim(key: string, timestamp: number, until: number): Pending<boolean>
  /** Forgets what has expired. */
  sweep(): Promise<void>
}

/** Clocks of the processes of one app may differ by this, in ms. */
export const CLOCK_TOLERANCE_MS = 500
