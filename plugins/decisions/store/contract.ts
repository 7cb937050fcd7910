import type { Decision, DecisionFilter } from '../contract.js'

/** A validated filter. */
export type StoreQuery = Omit<DecisionFilter, 'page' | 'limit'> & { readonly offset: number; readonly limit: number }

/** The store of decisions. One contract test covers all implementations. */
export interface DecisionStore {
  readonly kind: 'memory' | 'sqlite' | 'mysql'
  /** Adds decisions. Idempotent. */
  add(decisions: readonly Decision[]): Promise<void>
  /** Newest first. */
  list(query: StoreQuery): Promise<{ readonly decisions: readonly Decision[]; readonly total: number }>
  /** Deletes decisions older than `before` (ms since 1970), and the oldest beyond `most`. */
  prune(before: number, most: number): Promise<void>
}
