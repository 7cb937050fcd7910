import { type Chain, registerChain, withoutStart } from '../audit/chain.js'
import { idOf } from '../audit/entry.js'
import type { AuditStore } from '../audit/store/contract.js'
import type { KeyRing } from '../keys.js'

export interface PurgeAuditInput {
  readonly store: AuditStore
  readonly keys: KeyRing
  /** Older entries are deleted: ms since 1970. */
  readonly before: number
  /** Nodes that run: their chains stay, even when they are empty. */
  readonly alive: ReadonlySet<string>
  /** Statements that delete, at most. */
  readonly steps: number
}

export interface PurgedEntries {
  readonly entries: number
  /** Whether more may be left. */
  readonly more: boolean
}

/** Entries of one statement. */
const stepEntries = 1000
/** Chains that are in memory at once. */
const pageSize = 100

/**
 * Deletes old entries from the start of each chain. The hash of the last deleted one stays, sealed, in its place, so that the rest can be
 * verified. Chains that are done and empty go from the start of the register, in the same way.
 */
export async function purgeAudit(input: PurgeAuditInput): Promise<PurgedEntries> {
  const { steps, store } = input
  let entries = 0
  let left = steps
  let last = (await store.chain(registerChain))?.purged ?? 0
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

/** Deletes up to a thousand entries; undefined when none is old enough. */
async function purgeStep({ before, keys, store }: PurgeAuditInput, chain: Chain): Promise<Chain | undefined> {
  const after = idOf(chain.chain, chain.purged)
  const to = Math.min(after + stepEntries, idOf(chain.chain, chain.entries))
  if (to <= after) return undefined
  const young = await store.firstSince({ after, to, since: before })
  const lastOld = young === undefined ? to : young - 1
  if (lastOld <= after) return undefined
  const [entry] = await store.entries({ after: lastOld - 1, to: lastOld, limit: 1 })
  // A hole is for the verification to find; what is beyond it stays.
  if (entry === undefined) return undefined
  const shorter = withoutStart(keys.current, chain, { purged: lastOld - idOf(chain.chain, 0), purgedHash: entry.hash })
  await store.purge(shorter, after + 1, lastOld)
  return shorter
}

async function dropEmpty({ alive, before, keys, store }: PurgeAuditInput, chain: Chain): Promise<void> {
  const done = chain.closed || !alive.has(chain.node)
  if (chain.purged < chain.entries || !done || chain.openedAt >= before) return
  const register = await store.chain(registerChain)
  if (register === undefined || register.purged !== chain.chain - 1) return
  await store.dropChain(chain.chain, withoutStart(keys.current, register, { purged: chain.chain, purgedHash: chain.opening }))
}
