import type { HealthSample } from '../outcome.js'

/** The store of the history. One contract test covers all implementations. */
export interface HistoryStore {
  /** Whether all nodes see the same samples. */
  readonly shared: boolean
  add(sample: HealthSample): Promise<void>
  /** Samples of a worker from `since` (ms since 1970) on, newest first, at most `limit`. */
  read(worker: string, since: number, limit: number): Promise<readonly HealthSample[]>
  /** Deletes samples older than `before` (ms since 1970). */
  prune(before: number): Promise<void>
}
