import type { Chain } from '../chain.js'
import type { AuditEntry } from '../entry.js'

export interface EntryRow {
  readonly id: number
  readonly at: number
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly actor: string
  readonly device: string | null
  readonly via: string
  readonly digest_before: string | null
  readonly digest_after: string | null
  readonly reason: string | null
  readonly address: string | null
  readonly request_id: string | null
  readonly ref: number | null
  readonly hash: string
}

export interface ChainRow {
  readonly chain: number
  readonly node: string
  readonly opened_at: number
  readonly key_id: string
  readonly opening: string
  readonly entries: number
  readonly last_hash: string
  readonly closed: number
  readonly counter: number
  readonly previous_seal: string
  readonly seal_key_id: string
  readonly seal: string
  readonly purged: number
  readonly purged_hash: string
  readonly purged_key_id: string
  readonly purged_seal: string
}

/** The columns of an entry, with their fields. */
const fields = [
  ['id', 'id'],
  ['at', 'at'],
  ['action', 'action'],
  ['target', 'target'],
  ['outcome', 'outcome'],
  ['actor', 'actor'],
  ['device', 'device'],
  ['via', 'via'],
  ['digest_before', 'before'],
  ['digest_after', 'after'],
  ['reason', 'reason'],
  ['address', 'address'],
  ['request_id', 'requestId'],
  ['ref', 'ref'],
  ['hash', 'hash'],
] as const satisfies readonly (readonly [column: keyof EntryRow, field: keyof AuditEntry])[]

/** Maximum number of columns of {@link valuesOfEntries}. */
export const mostColumns = fields.length

/** Returns the values of entries, row by row, for columns in which any of them has a value: job outcomes leave nearly half empty. */
export function valuesOfEntries(entries: readonly AuditEntry[]) {
  const used = fields.filter(([, field]) => entries.some((entry) => entry[field] !== null))
  const values: (string | number | null)[] = []
  for (const entry of entries) for (const [, field] of used) values.push(entry[field])
  return { columns: used.map(([column]) => column), values }
}

/**
 * Drivers return numbers as number, string or bigint. SQLite also stores other texts in such a column, which it compares as texts, so they must
 * not count as the number that JavaScript reads them as. Returns -1 for what no process writes, which no hash and no seal matches.
 */
function wholeNumber(value: unknown): number {
  if (typeof value === 'string' && !/^-?\d+$/.test(value)) return -1
  const number = typeof value === 'object' ? Number.NaN : Number(value)
  return Number.isSafeInteger(number) ? number : -1
}

export function entryOfRow({ id, at, ref, digest_before, digest_after, request_id, ...same }: EntryRow): AuditEntry {
  return {
    ...same,
    id: Number(id),
    at: wholeNumber(at),
    before: digest_before,
    after: digest_after,
    requestId: request_id,
    ref: ref === null ? null : wholeNumber(ref),
  }
}

export function rowOfChain(chain: Chain): ChainRow {
  return {
    chain: chain.chain,
    node: chain.node,
    opened_at: chain.openedAt,
    key_id: chain.keyId,
    opening: chain.opening,
    entries: chain.entries,
    last_hash: chain.lastHash,
    closed: chain.closed ? 1 : 0,
    counter: chain.counter,
    previous_seal: chain.previousSeal,
    seal_key_id: chain.sealKeyId,
    seal: chain.seal,
    purged: chain.purged,
    purged_hash: chain.purgedHash,
    purged_key_id: chain.purgedKeyId,
    purged_seal: chain.purgedSeal,
  }
}

/** A table that was not migrated yet has no columns of the chain of seals, and a row of the older format has their defaults. */
export function chainOfRow(row: ChainRow): Chain {
  return {
    chain: wholeNumber(row.chain),
    node: row.node,
    openedAt: wholeNumber(row.opened_at),
    keyId: row.key_id,
    opening: row.opening,
    entries: wholeNumber(row.entries),
    lastHash: row.last_hash,
    closed: wholeNumber(row.closed) === 1,
    counter: wholeNumber(row.counter ?? 0),
    previousSeal: row.previous_seal ?? '',
    sealKeyId: row.seal_key_id || row.key_id,
    seal: row.seal,
    purged: wholeNumber(row.purged),
    purgedHash: row.purged_hash,
    purgedKeyId: row.purged_key_id,
    purgedSeal: row.purged_seal,
  }
}
