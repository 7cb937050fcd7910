import { hash } from 'node:crypto'
import type { Pending } from '../../pending.js'
import type { Lookup } from '../lookup.js'

export interface NonceGlance {
  /** Since when the store remembers, ms since 1970. */
  readonly birth: number
  /** Whether one of the keys is taken. */
  readonly seen: boolean
}

/** Remembers which nonces were used. */
export interface NonceStore {
  readonly driver: 'memory' | 'kv' | 'db'
  /** Looks without taking. */
  glance(keys: readonly string[]): Lookup<NonceGlance>
  /** Takes a nonce until `until`, ms since 1970; true for exactly one caller. */
  claim(key: string, until: number): Pending<boolean>
  /** Makes sure that the store has a birth time. */
  open(): Promise<void>
  /** Forgets what has expired. */
  sweep(): Promise<void>
}

/**
 * The key of a nonce under the credential that verified it, not under the id that the request claims: two ids that share a
 * secret share its nonces.
 */
export function nonceKey(credential: string, nonce: string): string {
  return hash('sha256', `zin/nonce/v1\n${credential}\n${nonce}`, 'hex').slice(0, 32)
}
