import type { Chain } from '../chain.js'
import type { AuditEntry } from '../entry.js'

/** Filter of listed entries. */
export interface EntryQuery {
  readonly action?: string
  readonly target?: string
  readonly actor?: string
  readonly outcome?: string
  readonly requestId?: string
  /** ms since 1970, inclusive. */
  readonly since?: number
  /** ms since 1970, exclusive. */
  readonly until?: number
}

/** Limits of one {@link AuditStore.append}. */
export interface BatchLimits {
  readonly entries: number
  /** Size as JSON; Infinity if unlimited. */
  readonly bytes: number
}

/** The tables of the audit log. Writes are atomic. */
export interface AuditStore {
  readonly batchLimits: BatchLimits
  /** Adds a chain and updates the register; returns false if another process took its number. */
  open(chain: Chain, register: Chain): Promise<boolean>
  /** Appends entries and the new head. Idempotent. */
  append(entries: readonly AuditEntry[], chain: Chain): Promise<void>
  /** Returns entries, newest first. */
  list(query: EntryQuery, page: { readonly offset: number; readonly limit: number }): Promise<readonly AuditEntry[]>
  count(query: EntryQuery): Promise<number>
  /** Returns entries with ids above `after` and up to `to`, in id order. */
  entries(range: { readonly after: number; readonly to: number; readonly limit: number }): Promise<readonly AuditEntry[]>
  /**
   * Says what no process can have written, if there is such a row: an entry or a chain without a number, with one that is negative, not whole
   * or too high, or, on SQLite, a text with the character NUL.
   */
  impossible(): Promise<string | undefined>
  /** Returns the hashes of entries, by id, of those that exist. */
  hashes(ids: readonly number[]): Promise<ReadonlyMap<number, string>>
  chain(chain: number): Promise<Chain | undefined>
  /** Returns chains above `after`, ordered by number, without the register and rows that `impossible` names. */
  chains(after: number, limit: number): Promise<readonly Chain[]>
  /** Replaces the seals of a chain whose process has ended; returns false if the chain has changed since it was read. */
  replaceSeals(read: Chain, sealed: Chain): Promise<boolean>
  /** Deletes entries up to an id and stores the new start of their chain. */
  purge(chain: Chain, from: number, to: number): Promise<void>
  /** Deletes an empty chain and stores the new start of the register. */
  dropChain(chain: number, register: Chain): Promise<void>
}
