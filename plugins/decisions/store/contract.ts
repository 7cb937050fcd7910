import type { Decision, DecisionFilter } from '../contract.js'

/** A checked filter. */
export type StoreQuery = Omit<DecisionFilter, 'page' | 'limit'> & { readonly offset: number; readonly limit: number }

/** Where decisions are kept. One contract test covers all implementations. */
export interface DecisionStore {
  readonly kind: 'memory' | 'sqlite' | 'mysql'
  /** Adds decisions; those that are stored already stay as they are. */
  add(decisions: readonly Decision[]): Promise<void>
  /** Newest first. */
  list(query: StoreQuery): Promise<{ readonly decisions: readonly Decision[]; readonly total: number }>
  /** Deletes decisions older than `before` (ms since 1970), and the oldest beyond `most`. */
  prune(before: number, most: number): Promise<void>
}
