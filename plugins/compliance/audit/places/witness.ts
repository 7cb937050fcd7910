import type { Checkpoint } from './checkpoint.js'

/** A place outside the tables of the log that keeps seals of it. Verification compares the tables with every witness. */
export interface Witness {
  /** For messages: `kv`, `the anchor file /var/…`. */
  readonly name: string
  /** Returns the highest number of a chain that the witness knows; 0 if it knows none. */
  chains(): Promise<number>
  /** Returns the checkpoints of chains; several of a chain are in the order in which they were made. */
  read(chains: readonly number[]): Promise<readonly Checkpoint[]>
}
