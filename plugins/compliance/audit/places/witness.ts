import type { Checkpoint } from './checkpoint.js'

/** A place outside the tables of the log that keeps seals of it. Verification compares the tables with every witness. */
export interface Witness {
  /** For messages: `kv`, `the anchor file /var/…`. */
  readonly name: string
  /** Returns the highest number of a chain that the witness knows; 0 if it knows none. */
  chains(): Promise<number>
  /** Returns the newest checkpoints of chains, at most one per chain. */
  read(chains: readonly number[]): Promise<readonly Checkpoint[]>
  /** Returns the numbers of entries at the starts of chains that the witness knows to be deleted, by chain, where it knows the start. */
  starts?(chains: readonly number[]): Promise<ReadonlyMap<number, number>>
  /** Reads all checkpoints, some at a time. */
  lines?(signal?: AbortSignal): AsyncIterable<readonly Checkpoint[]>
}
