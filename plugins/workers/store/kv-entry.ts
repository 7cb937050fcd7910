import type { StoredWorker } from './contract.js'

/** A worker as the generic key-value store keeps it. */
export interface KvEntry {
  /** The slot that lists it. */
  readonly slot: number
  readonly worker: StoredWorker
}

export function entryOf(text: string | null | undefined): KvEntry | undefined {
  // An empty one is what a removed worker leaves.
  return text === null || text === undefined || text === '' ? undefined : (JSON.parse(text) as KvEntry)
}
