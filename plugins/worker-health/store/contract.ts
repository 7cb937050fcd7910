import type { HealthSample } from '../outcome.js'

/** Where history is kept. One contract test runs on every kind. */
export interface HistoryStore {
  add(sample: HealthSample): Promise<void>
  /** Samples of a worker from `since` (ms since 1970) on, newest first, at most `limit`. */
  read(worker: string, since: number, limit: number): Promise<readonly HealthSample[]>
  /** Forgets what is older than `before` (ms since 1970). */
  prune(before: number): Promise<void>
}
