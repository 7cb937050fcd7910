import type { PastCanary } from '../contract.js'
import type { Evidence } from '../judge/index.js'
import type { CanaryRecord } from '../record.js'

/** A job that failed for good on the version. */
export interface Casualty {
  readonly queue: string
  readonly id: string
  /** ms since 1970. */
  readonly at: number
}

/** Most casualties that one node keeps of a canary, and most past canaries of a worker. */
export const mostCasualties = 1000
export const mostPast = 20

/** Where canaries are kept. One contract test runs on all stores. Every call has a deadline, and rejects when the store is away. */
export interface CanaryStore {
  readonly kind: 'memory' | 'redis' | 'database'
  /** The last canary of a worker, live or not. */
  get(worker: string): Promise<CanaryRecord | undefined>
  /** The canaries of workers that may have a live one; at most two round trips. */
  live(): Promise<readonly CanaryRecord[]>
  /** Stores the first canary of a worker, or the next one when `last` is still its last one. False: somebody else was faster. */
  insert(record: CanaryRecord, last: CanaryRecord | undefined): Promise<boolean>
  /** Writes when the stored one has the same id and the generation before this one; else false. Atomic. */
  replace(record: CanaryRecord): Promise<boolean>
  /** Says that the worker has a live canary, which `insert` may have failed to say. */
  mark(worker: string): Promise<void>
  /** Those before the last one, newest first. */
  past(worker: string): Promise<readonly PastCanary[]>

  /** Replaces what a node has seen of a step. */
  saveEvidence(canary: string, node: string, step: number, evidence: Evidence): Promise<void>
  /** What all nodes have seen; one round trip for each 100 parts. */
  evidence(canary: string, steps: number): Promise<Evidence>
  /** Replaces the casualties that a node has seen. */
  saveCasualties(canary: string, node: string, casualties: readonly Casualty[]): Promise<void>
  casualties(canary: string): Promise<readonly Casualty[]>
}
