import { hash } from 'node:crypto'
import type { Pending } from '../../pending.js'
import type { Lookup } from '../lookup.js'

export interface NonceGlance {
  /** Birth time of the store, ms since 1970: it has kept all nonces since then. */
  readonly birth: number
  /** Whether any of the keys is taken. */
  readonly seen: boolean
}

/** Stores used nonces. */
export interface NonceStore {
  readonly driver: 'memory' | 'kv' | 'db'
  /** Reads without claiming. */
  glance(keys: readonly string[]): Lookup<NonceGlance>
  /** Claims a nonce until `until`, ms since 1970; true for exactly one caller. */
  claim(key: string, until: number): Pending<boolean>
  /** Ensures that the store has a birth time. */
  open(): Promise<void>
  /** Deletes expired nonces. */
  sweep(): Promise<void>
}

/**
 * Returns the key of a nonce, scoped by the credential that verified the request and not by the id that it claims: two ids that share a
 * secret share its nonces.
 */
export function nonceKey(credential: string, nonce: string): string {
  return hash('sha256', `zin/nonce/v1\n${credential}\n${nonce}`, 'hex').slice(0, 32)
}
