import type { ResourceSnapshot } from '../snapshot.js'

/** `fine`: every snapshot, for 24 hours. `coarse`: one point for five minutes, for 30 days. */
export type Resolution = 'fine' | 'coarse'

export const retentionMs: Readonly<Record<Resolution, number>> = { fine: 86_400_000, coarse: 30 * 86_400_000 }

export interface HistoryQuery {
  readonly resolution: Resolution
  /** ms since 1970. */
  readonly since: number
  /** Of this node only. Default: of all. */
  readonly node?: string
  readonly limit: number
}

/** The snapshots of all nodes. One contract test covers all implementations. */
export interface ResourceStore {
  /** Adds a snapshot, and replaces the point of its five minutes; one statement. */
  add(snapshot: ResourceSnapshot, coarse: ResourceSnapshot): Promise<void>
  /** Newest first. */
  read(query: HistoryQuery): Promise<readonly ResourceSnapshot[]>
  /** Deletes what is past its time, in short statements. Reads are right without it. */
  prune(now: number): Promise<void>
}
