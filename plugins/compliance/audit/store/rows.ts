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
  readonly seal: string
  readonly purged: number
  readonly purged_hash: string
  readonly purged_key_id: string
  readonly purged_seal: string
}

/** Columns of an entry, in the order of {@link valuesOfEntry}. */
export const entryColumns = [
  'id',
  'at',
  'action',
  'target',
  'outcome',
  'actor',
  'device',
  'via',
  'digest_before',
  'digest_after',
  'reason',
  'address',
  'request_id',
  'ref',
  'hash',
] as const satisfies readonly (keyof EntryRow)[]

export function valuesOfEntry(entry: AuditEntry): readonly (string | number | null)[] {
  const { id, at, action, target, outcome, actor, device, via, before, after, reason, address, requestId, ref, hash } = entry
  return [id, at, action, target, outcome, actor, device, via, before, after, reason, address, requestId, ref, hash]
}

/** Drivers return numbers as number, text or bigint. */
export function entryOfRow({ id, at, ref, digest_before, digest_after, request_id, ...same }: EntryRow): AuditEntry {
  return {
    ...same,
    id: Number(id),
    at: Number(at),
    before: digest_before,
    after: digest_after,
    requestId: request_id,
    ref: ref === null ? null : Number(ref),
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
    seal: chain.seal,
    purged: chain.purged,
    purged_hash: chain.purgedHash,
    purged_key_id: chain.purgedKeyId,
    purged_seal: chain.purgedSeal,
  }
}

export function chainOfRow(row: ChainRow): Chain {
  return {
    chain: Number(row.chain),
    node: row.node,
    openedAt: Number(row.opened_at),
    keyId: row.key_id,
    opening: row.opening,
    entries: Number(row.entries),
    lastHash: row.last_hash,
    closed: Number(row.closed) === 1,
    seal: row.seal,
    purged: Number(row.purged),
    purgedHash: row.purged_hash,
    purgedKeyId: row.purged_key_id,
    purgedSeal: row.purged_seal,
  }
}
