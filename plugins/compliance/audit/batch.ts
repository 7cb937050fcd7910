import type { DerivedKey } from '../keys.js'
import { type Chain, withHead } from './chain.js'
import { type AuditEntry, type AuditFacts, entryOf, hashOf, idOf } from './entry.js'
import type { BatchLimits } from './store/contract.js'

/** Facts waiting to be written. */
export interface Waiting {
  readonly facts: AuditFacts
  /** The waiting caller, if any. */
  readonly caller?: { readonly resolve: (id: number) => void; readonly reject: (error: Error) => void }
}

/** The entries of one transaction, and the chain with its new head. */
export interface Batch {
  readonly waiting: readonly Waiting[]
  readonly entries: readonly AuditEntry[]
  readonly chain: Chain
}

/** Maximum UTF-8 bytes per character in JSON, and the bytes of an entry's id and hash. */
const bytesPerCharacter = 3
const bytesBeside = 120

/** Returns how many waiting entries fit into one batch; at least one. */
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

/** Returns an upper bound of the size, in bytes. */
function sizeOf({ facts }: Waiting): number {
  return JSON.stringify(Object.values(facts)).length * bytesPerCharacter + bytesBeside
}

/** Creates the next entries of a chain. */
export function batchOf(waiting: readonly Waiting[], chain: Chain, key: DerivedKey): Batch {
  let previous = chain.lastHash
  const entries = waiting.map(({ facts }, index): AuditEntry => {
    const id = idOf(chain.chain, chain.entries + index + 1)
    previous = hashOf(key.key, previous, id, facts)
    return entryOf(facts, id, previous)
  })
  return { waiting, entries, chain: withHead(key, chain, { entries: chain.entries + entries.length, lastHash: previous }) }
}

/** Lost job outcomes. */
export interface Gap {
  readonly count: number
  /** Time of the first one, in ms since 1970. */
  readonly since: number
}

/** Returns the entry that records a gap. */
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
      reason: `${count} job outcomes since ${new Date(since).toISOString()} were lost: the log could not be written and its backlog was full`,
      address: null,
      requestId: null,
      ref: null,
    },
  }
}
