import { type Chain, registerChain, withoutStart } from '../audit/chain.js'
import { type AuditEntry, hashOf, idOf, numberOf } from '../audit/entry.js'
import { type Checkpoint, contradiction } from '../audit/places/checkpoint.js'
import type { SecondPlace } from '../audit/places/second-place.js'
import type { AuditStore } from '../audit/store/contract.js'
import { sealFault } from '../audit/verify-chain.js'
import { complianceErrors } from '../errors.js'
import type { KeyRing } from '../keys.js'

export interface PurgeAuditInput {
  readonly store: AuditStore
  readonly keys: KeyRing
  /** Keeps the seals and starts of chains. It is told before entries or chains are deleted. */
  readonly place?: Pick<SecondPlace, 'forget' | 'moveStart' | 'read' | 'starts'> | undefined
  /** Entries older than this are deleted, in ms since 1970. */
  readonly before: number
  /** Live nodes; their chains are kept even if empty. */
  readonly alive: ReadonlySet<string>
  /** Maximum number of deletions. */
  readonly steps: number
}

export interface PurgedEntries {
  readonly entries: number
  /** Chains with old entries that are kept because they are not intact. */
  readonly kept: number
  /** Whether more may be left. */
  readonly more: boolean
}

export function keptText(chains: number): string {
  const what = chains === 1 ? '1 chain of the audit log is' : `${chains} chains of the audit log are`
  return `${what} not intact, and kept as evidence: run zin audit:verify`
}

/** Entries per deletion. */
const stepEntries = 1000
/** Chains per read. */
const pageSize = 100

/**
 * Deletes old entries from the start of each chain. The hash of the last deleted entry is kept under a seal, so that the rest can be
 * verified. Finished, empty chains are removed from the start of the register in the same way. What does not match its hash, its seal or what
 * the place knows is kept, so that no one can have changed entries deleted by dating them back. Throws AUDIT_KEY_UNKNOWN in a process with an
 * earlier key; rejects while the place is unavailable.
 */
export async function purgeAudit(input: PurgeAuditInput): Promise<PurgedEntries> {
  const { place, steps, store } = input
  let [entries, kept, left] = [0, 0, steps]
  const register = await store.chain(registerChain)
  if (register !== undefined && input.keys.find(register.sealKeyId) === undefined)
    throw complianceErrors.AUDIT_KEY_UNKNOWN(register.sealKeyId)
  let last = register?.purged ?? 0
  for (;;) {
    const page = await store.chains(last, pageSize)
    const records = new Map((await place?.read(page.map(({ chain }) => chain)))?.map((record) => [record.chain, record]))
    for (let chain of page) {
      const record = records.get(chain.chain)
      for (;;) {
        const step = await nextStep(input, chain, record)
        if (step === 'not intact') kept += 1
        if (step === undefined || step === 'not intact') break
        await place?.moveStart(chain.chain, step.purged)
        await store.purge(step, idOf(chain.chain, chain.purged + 1), idOf(chain.chain, step.purged))
        entries += step.purged - chain.purged
        chain = step
        if (--left === 0) return { entries, kept, more: true }
      }
      await dropEmpty(input, chain, record)
      last = chain.chain
    }
    if (page.length < pageSize) return { entries, kept, more: false }
  }
}

/** Whether all that the place knows of a chain is older than what is deleted: then it no longer keeps the chain. */
function isOld({ before }: PurgeAuditInput, record: Checkpoint | undefined): boolean {
  return record?.lastAt !== undefined && record.lastAt < before
}

/** Returns the chain without up to 1,000 entries; undefined if none is old enough. */
async function nextStep(input: PurgeAuditInput, chain: Chain, record: Checkpoint | undefined): Promise<Chain | 'not intact' | undefined> {
  const { before, keys, store } = input
  const after = idOf(chain.chain, chain.purged)
  const isGivenUp = isOld(input, record)
  // A row that was changed may name fewer entries than there are.
  const to = isGivenUp ? idOf(chain.chain + 1, 0) : Math.min(after + stepEntries, idOf(chain.chain, chain.entries))
  if (to <= after) return undefined
  const page = await store.entries({ after, to, limit: stepEntries })
  const young = page.findIndex(({ at }) => at >= before)
  const old = young === -1 ? page : page.slice(0, young)
  if (isGivenUp) {
    const isCut = page.length === 0 && chain.purged < chain.entries
    const end = isCut ? { purged: chain.entries, purgedHash: chain.lastHash } : endOf(old)
    return end && withoutStart(keys.current, chain, end)
  }
  if (page.length > 0 && old.length === 0) return undefined
  const now = await store.chain(chain.chain)
  // Another node deletes, too.
  if (now?.purged !== chain.purged) return undefined
  const end = (await isIntact(input, now, record)) ? endOf(old.slice(0, brokenAt(input, chain, old, record))) : undefined
  return end === undefined ? 'not intact' : withoutStart(keys.current, chain, end)
}

function endOf(entries: readonly AuditEntry[]): Pick<Chain, 'purged' | 'purgedHash'> | undefined {
  const last = entries.at(-1)
  return last && { purged: numberOf(last.id), purgedHash: last.hash }
}

/** Whether a chain matches its seals and what the place knows. @param now read after the record. */
async function isIntact({ keys, place }: PurgeAuditInput, now: Chain, record: Checkpoint | undefined): Promise<boolean> {
  const start = (await place?.starts([now.chain]))?.get(now.chain)
  if (start !== undefined && start < now.purged) return false
  return sealFault(keys, now) === undefined && (record === undefined || contradiction(now, record, 'kv', keys.ageOf) === undefined)
}

/** Returns the index of the first entry that is not the one that was written; undefined if all are. */
function brokenAt(
  { keys }: PurgeAuditInput,
  { chain, keyId, purged, purgedHash }: Chain,
  entries: readonly AuditEntry[],
  record: Checkpoint | undefined,
): number | undefined {
  const key = keys.find(keyId)
  if (key === undefined) return 0
  let previous = purgedHash
  const index = entries.findIndex((entry, position) => {
    const number = purged + position + 1
    const isNext = entry.id === idOf(chain, number) && entry.hash === hashOf(key.key, previous, entry.id, entry)
    previous = entry.hash
    return !isNext || (number === record?.entries && entry.hash !== record.lastHash)
  })
  return index === -1 ? undefined : index
}

async function dropEmpty(input: PurgeAuditInput, chain: Chain, record: Checkpoint | undefined): Promise<void> {
  const { alive, before, keys, place, store } = input
  const done = chain.closed || !alive.has(chain.node)
  if (chain.purged < chain.entries || !done || chain.openedAt >= before) return
  const register = await store.chain(registerChain)
  if (register === undefined || register.purged !== chain.chain - 1) return
  if (!isOld(input, record)) {
    const now = await store.chain(chain.chain)
    if (now === undefined || !(await isIntact(input, now, record))) return
  }
  await place?.forget(chain.chain)
  await store.dropChain(chain.chain, withoutStart(keys.current, register, { purged: chain.chain, purgedHash: chain.opening }))
}
