import type { Pending } from '../../pending.js'

/**
 * Stores, where they survive a restart or a flush, the nonces that a store's birth time does not protect: those of requests dated ahead of
 * the server's clock, whose timestamps can be later than the birth of a store created after them.
 */
export interface Ledger {
  readonly driver: 'db' | 'file'
  /** Requests dated further ahead than this use the ledger, in ms. */
  readonly aheadMs: number
  /** How far ahead a store that lost its data dates its new birth, in ms: `aheadMs`, and as much again for clock differences. */
  readonly marginMs: number
  /** Opens the ledger. Returns true when it is new, so that no store can have lost nonces. */
  begin(): Promise<boolean>
  has(key: string): Pending<boolean>
  /** Claims the nonce of a request with this timestamp until `until`, both ms since 1970; true for exactly one caller. */
  claim(key: string, timestamp: number, until: number): Pending<boolean>
  /** Deletes expired nonces. */
  sweep(): Promise<void>
}

/** Maximum difference between the clocks of the processes of one app, in ms. */
export const CLOCK_TOLERANCE_MS = 500
