import { type Chain, registerChain, withoutStart } from '../audit/chain.js'
import { idOf } from '../audit/entry.js'
import type { SecondPlace } from '../audit/places/second-place.js'
import type { AuditStore } from '../audit/store/contract.js'
import { complianceErrors } from '../errors.js'
import type { KeyRing } from '../keys.js'

export interface PurgeAuditInput {
  readonly store: AuditStore
  readonly keys: KeyRing
  /** Keeps the seals of chains; those of removed chains are deleted there, too. */
  readonly place?: Pick<SecondPlace, 'forget'> | undefined
  /** Entries older than this are deleted, in ms since 1970. */
  readonly before: number
  /** Live nodes; their chains are kept even if empty. */
  readonly alive: ReadonlySet<string>
  /** Maximum number of deletions. */
  readonly steps: number
}

export interface PurgedEntries {
  readonly entries: number
  /** Whether more may be left. */
  readonly more: boolean
}

/** Entries per deletion. */
const stepEntries = 1000
/** Chains per read. */
const pageSize = 100

/**
 * Deletes old entries from the start of each chain. The hash of the last deleted entry is kept under a seal, so that the rest can be
 * verified. Finished, empty chains are removed from the start of the register in the same way. Throws AUDIT_KEY_UNKNOWN in a process with an
 * earlier key.
 */
export async function purgeAudit(input: PurgeAuditInput): Promise<PurgedEntries> {
  const { steps, store } = input
  let entries = 0
  let left = steps
  const register = await store.chain(registerChain)
  if (register !== undefined && input.keys.find(register.sealKeyId) === undefined)
    throw complianceErrors.AUDIT_KEY_UNKNOWN(register.sealKeyId)
  let last = register?.purged ?? 0
  for (;;) {
    const page = await store.chains(last, pageSize)
    for (let chain of page) {
      for (;;) {
        const shorter = await purgeStep(input, chain)
        if (shorter === undefined) break
        entries += shorter.purged - chain.purged
        chain = shorter
        if (--left === 0) return { entries, more: true }
      }
      await dropEmpty(input, chain)
      last = chain.chain
    }
    if (page.length < pageSize) return { entries, more: false }
  }
}

/** Deletes up to 1,000 entries; returns undefined if none is old enough. */
async function purgeStep({ before, keys, store }: PurgeAuditInput, chain: Chain): Promise<Chain | undefined> {
  const after = idOf(chain.chain, chain.purged)
  const to = Math.min(after + stepEntries, idOf(chain.chain, chain.entries))
  if (to <= after) return undefined
  const young = await store.firstSince({ after, to, since: before })
  const lastOld = young === undefined ? to : young - 1
  if (lastOld <= after) return undefined
  const [entry] = await store.entries({ after: lastOld - 1, to: lastOld, limit: 1 })
  // Gaps are left for the verification to find; nothing beyond them is deleted.
  if (entry === undefined) return undefined
  const shorter = withoutStart(keys.current, chain, { purged: lastOld - idOf(chain.chain, 0), purgedHash: entry.hash })
  await store.purge(shorter, after + 1, lastOld)
  return shorter
}

async function dropEmpty({ alive, before, keys, place, store }: PurgeAuditInput, chain: Chain): Promise<void> {
  const done = chain.closed || !alive.has(chain.node)
  if (chain.purged < chain.entries || !done || chain.openedAt >= before) return
  const register = await store.chain(registerChain)
  if (register === undefined || register.purged !== chain.chain - 1) return
  // While kv is unavailable, the chain stays.
  const isForgotten = await place?.forget(chain.chain).then(
    () => true,
    () => false,
  )
  if (isForgotten === false) return
  await store.dropChain(chain.chain, withoutStart(keys.current, register, { purged: chain.chain, purgedHash: chain.opening }))
}
