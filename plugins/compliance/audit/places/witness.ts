import type { Checkpoint } from './checkpoint.js'

export interface ChainStart {
  readonly purged: number
  /** Time of the newest entry of the chain; undefined if it is not known. */
  readonly lastAt: number | undefined
}

/** A place outside the tables of the log that keeps seals of it. Verification compares the tables with every witness. */
export interface Witness {
  /** For messages: `kv`, `the anchor file /var/…`. */
  readonly name: string
  /** Returns the highest number of a chain that the witness knows; 0 if it knows none. */
  chains(): Promise<number>
  /** Returns the newest checkpoints of chains, at most one per chain. */
  read(chains: readonly number[]): Promise<readonly Checkpoint[]>
  /** Returns the number of entries at the start of a chain that the witness knows to be deleted; undefined if it does not know the start. */
  start?(chain: number): Promise<ChainStart | undefined>
  /** Reads all checkpoints, some at a time. */
  lines?(signal?: AbortSignal): AsyncIterable<readonly Checkpoint[]>
}
