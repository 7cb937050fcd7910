import type { PastCanary } from '../contract.js'
import type { Evidence } from '../judge/index.js'
import type { CanaryRecord } from '../record.js'

/** A job that failed permanently on the new version. */
export interface Casualty {
  readonly queue: string
  readonly id: string
  /** ms since 1970. */
  readonly at: number
}

/** Maximum number of casualties per node and canary, and of past canaries per worker. */
export const mostCasualties = 1000
export const mostPast = 20

/** The store of canaries. One contract test runs on all stores. Every call has a deadline and rejects if the store is unavailable. */
export interface CanaryStore {
  readonly kind: 'memory' | 'redis' | 'database'
  /** Returns the last canary of a worker, live or not. */
  get(worker: string): Promise<CanaryRecord | undefined>
  /** Returns all live canaries, in at most two round trips. */
  live(): Promise<readonly CanaryRecord[]>
  /** Stores the first canary of a worker, or the next one if `last` is still its last one. Returns false if another process was first. */
  insert(record: CanaryRecord, last: CanaryRecord | undefined): Promise<boolean>
  /** Stores the record if the stored one has the same id and the previous generation; otherwise returns false. Atomic. */
  replace(record: CanaryRecord): Promise<boolean>
  /** Marks the worker as having a live canary, in case `insert` failed to. */
  mark(worker: string): Promise<void>
  /** Returns the canaries before the last one, newest first. */
  past(worker: string): Promise<readonly PastCanary[]>

  /** Replaces the evidence of a node for a step. */
  saveEvidence(canary: string, node: string, step: number, evidence: Evidence): Promise<void>
  /** Returns the evidence of all nodes, with one round trip per 100 parts. */
  evidence(canary: string, steps: number): Promise<Evidence>
  /** Replaces the casualties of a node. */
  saveCasualties(canary: string, node: string, casualties: readonly Casualty[]): Promise<void>
  casualties(canary: string): Promise<readonly Casualty[]>
}
