import type { ResourceSnapshot } from '../snapshot.js'

/** `fine`: every snapshot, for 24 hours. `coarse`: one point per five minutes, for 30 days. */
export type Resolution = 'fine' | 'coarse'

export const retentionMs: Readonly<Record<Resolution, number>> = { fine: 86_400_000, coarse: 30 * 86_400_000 }

export interface HistoryQuery {
  readonly resolution: Resolution
  /** ms since 1970. */
  readonly since: number
  /** Only this node. Default: all nodes. */
  readonly node?: string
  readonly limit: number
}

/** The store of snapshots. One contract test covers all implementations. */
export interface ResourceStore {
  /** Adds a snapshot and replaces the point of its five-minute bucket, in one statement. */
  add(snapshot: ResourceSnapshot, coarse: ResourceSnapshot): Promise<void>
  /** Newest first. */
  read(query: HistoryQuery): Promise<readonly ResourceSnapshot[]>
  /** Deletes expired rows in short statements. Reads are correct without it. */
  prune(now: number): Promise<void>
}
