import type { DerivedKey } from '../keys.js'
import { type Chain, withHead } from './chain.js'
import { type AuditEntry, type AuditFacts, entryOf, hashOf, idOf } from './entry.js'
import type { BatchLimits } from './store/contract.js'

/** Facts that wait to be written. */
export interface Waiting {
  readonly facts: AuditFacts
  /** Absent: nobody waits for it. */
  readonly caller?: { readonly resolve: (id: number) => void; readonly reject: (error: Error) => void }
}

/** Entries of one transaction, and the chain with its new head. */
export interface Batch {
  readonly waiting: readonly Waiting[]
  readonly entries: readonly AuditEntry[]
  readonly chain: Chain
}

/** UTF-8 bytes of a character in JSON at most, and those of an entry beside its facts: id and hash. */
const bytesPerCharacter = 3
const bytesBeside = 120

/** How many of those that wait go into one batch; at least one. */
export function batchLength(waiting: readonly Waiting[], { bytes, entries }: BatchLimits): number {
  const most = Math.min(waiting.length, entries)
  if (bytes === Number.POSITIVE_INFINITY) return most
  let left = bytes
  for (let count = 0; count < most; count++) {
    left -= sizeOf(waiting[count] as Waiting)
    if (left < 0) return Math.max(1, count)
  }
  return most
}

/** An upper bound, in bytes. */
function sizeOf({ facts }: Waiting): number {
  return JSON.stringify(Object.values(facts)).length * bytesPerCharacter + bytesBeside
}

/** The next entries of a chain. */
export function batchOf(waiting: readonly Waiting[], chain: Chain, key: DerivedKey): Batch {
  let previous = chain.lastHash
  const entries = waiting.map(({ facts }, index): AuditEntry => {
    const id = idOf(chain.chain, chain.entries + index + 1)
    previous = hashOf(key.key, previous, id, facts)
    return entryOf(facts, id, previous)
  })
  return { waiting, entries, chain: withHead(key, chain, { entries: chain.entries + entries.length, lastHash: previous }) }
}

/** Job outcomes that were not kept. */
export interface Gap {
  readonly count: number
  /** Since when, ms since 1970. */
  readonly since: number
}

/** The entry that says how many were not kept. */
export function gapEntry({ count, since }: Gap, at: number): Waiting {
  return {
    facts: {
      at,
      action: 'audit.gap',
      target: 'audit:log',
      outcome: 'noted',
      actor: 'plugin:compliance',
      device: null,
      via: 'plugin',
      before: null,
      after: null,
      reason: `${count} job outcomes since ${new Date(since).toISOString()} were not kept: the log could not be written and its backlog was full`,
      address: null,
      requestId: null,
      ref: null,
    },
  }
}
