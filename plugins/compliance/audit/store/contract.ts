import type { Chain } from '../chain.js'
import type { AuditEntry } from '../entry.js'

/** Which entries are listed. */
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

/** What one {@link AuditStore.append} can take. */
export interface BatchLimits {
  readonly entries: number
  /** As JSON; Infinity: whatever the entries have. */
  readonly bytes: number
}

/** The tables of the audit log. Writes are all or nothing. */
export interface AuditStore {
  readonly batchLimits: BatchLimits
  /** Adds a chain and brings the register up to date; false when another process has taken its number. */
  open(chain: Chain, register: Chain): Promise<boolean>
  /** Appends entries and the new head. Can be repeated with the same arguments. */
  append(entries: readonly AuditEntry[], chain: Chain): Promise<void>
  /** Newest first. */
  list(query: EntryQuery, page: { readonly offset: number; readonly limit: number }): Promise<readonly AuditEntry[]>
  count(query: EntryQuery): Promise<number>
  /** Entries with ids above `after` and up to `to`, in the order of their ids. */
  entries(range: { readonly after: number; readonly to: number; readonly limit: number }): Promise<readonly AuditEntry[]>
  /** Id of the first entry of the range that is not older than `since` (ms since 1970). */
  firstSince(range: { readonly after: number; readonly to: number; readonly since: number }): Promise<number | undefined>
  chain(chain: number): Promise<Chain | undefined>
  /** Chains above `after`, in the order of their numbers; the register is none of them. */
  chains(after: number, limit: number): Promise<readonly Chain[]>
  /** Deletes entries up to an id and keeps the new start of their chain. */
  purge(chain: Chain, from: number, to: number): Promise<void>
  /** Deletes a chain without entries and keeps the new start of the register. */
  dropChain(chain: number, register: Chain): Promise<void>
}
