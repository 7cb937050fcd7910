import type { DerivedKey, KeyRing } from '../keys.js'
import { type Chain, openingOf, purgedSealOf, registerChain, sealOf } from './chain.js'
import { chainOf, hashOf, idOf, noHash, perChain } from './entry.js'
import type { AuditStore } from './store/contract.js'

/** The first thing in the log that is not as it was written. */
export interface AuditFault {
  /** Id of the entry; of a whole chain, where it begins or ends. */
  readonly id: number
  /** What is wrong, as a sentence without a full stop that names the entry or the chain. */
  readonly problem: string
}

export interface AuditReport {
  readonly intact: boolean
  /** Entries and chains that were read. */
  readonly entries: number
  readonly chains: number
  /** Chains whose process did not end in order: job outcomes that it had not yet written, at most those of its last moment, are missing. */
  readonly open: number
  /** Entries that retention had deleted from the chains that are left. */
  readonly purged: number
  readonly fault: AuditFault | undefined
}

/** What is said of a log that was not changed. */
export function intactText({ chains, entries }: Pick<AuditReport, 'chains' | 'entries'>): string {
  if (chains === 0) return 'empty: nothing was recorded yet, or all of it was deleted'
  const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`
  return `intact: ${count(entries, 'entry', 'entries')} in ${count(chains, 'chain', 'chains')}`
}

export type VerifyReader = Pick<AuditStore, 'chain' | 'chains' | 'entries'>

export interface VerifyOptions {
  readonly store: VerifyReader
  readonly keys: Pick<KeyRing, 'find'>
  /** Called now and then with the number of entries that were read. */
  readonly onProgress?: (entries: number) => void
  readonly signal?: AbortSignal
}

/** Entries and chains that are in memory at once. */
const pageSize = 1000
/** How often a chain is read again when retention has shortened it meanwhile. */
const rereads = 5

interface Walk {
  entries: number
  chains: number
  open: number
  purged: number
}

/**
 * Reads the whole log in the order of its ids and compares each entry with its hash, each chain with its seal and the register with the
 * chains. Ends at the first fault. The log may be written and purged meanwhile. Memory is bounded, whatever its length.
 */
export async function verifyAudit(options: VerifyOptions): Promise<AuditReport> {
  const walk: Walk = { entries: 0, chains: 0, open: 0, purged: 0 }
  const fault = await walkLog(options, walk)
  return { ...walk, intact: fault === undefined, fault }
}

async function walkLog(options: VerifyOptions, walk: Walk): Promise<AuditFault | undefined> {
  const { keys, store } = options
  const register = await store.chain(registerChain)
  if (register === undefined) {
    const [entry] = await store.entries({ after: 0, to: Number.MAX_SAFE_INTEGER, limit: 1 })
    return entry && { id: entry.id, problem: `the register of chains is missing, and entries from ${entry.id} on are left` }
  }
  const registerFault = sealFault(keys, register)
  if (registerFault !== undefined) return { id: idOf(1, 0), problem: `the register of chains ${registerFault}` }
  let last = register.purged
  let opening = register.purged === 0 ? noHash : register.purgedHash
  const [early] = await store.entries({ after: 0, to: idOf(register.purged + 1, 0), limit: 1 })
  if (early !== undefined) return { id: early.id, problem: strayText(early.id) }
  for (;;) {
    const page = await store.chains(last, pageSize)
    for (const chain of page) {
      if (chain.chain !== last + 1) return { id: idOf(last + 1, 1), problem: `chain ${last + 1} is missing with all its entries` }
      const fault = (await chainFault(options, chain, opening, walk)) ?? undefined
      if (fault !== undefined) return fault
      last = chain.chain
      opening = chain.opening
    }
    if (page.length < pageSize) break
  }
  // Chains may have been opened meanwhile; what is missing at the end shows against the register.
  const now = (await store.chain(registerChain)) ?? register
  if (last < register.entries)
    return {
      id: idOf(last + 1, 1),
      problem:
        last + 1 === register.entries
          ? `chain ${last + 1} was cut with all its entries`
          : `chains ${last + 1} to ${register.entries} were cut with all their entries`,
    }
  if (last > now.entries) return { id: idOf(now.entries + 1, 1), problem: `chain ${now.entries + 1} was added without the register` }
  const [stray] = await store.entries({ after: idOf(Math.max(last, now.entries) + 1, 0), to: Number.MAX_SAFE_INTEGER, limit: 1 })
  const newest = stray && ((await store.chain(registerChain)) ?? now)
  if (stray !== undefined && newest !== undefined && chainOf(stray.id) > newest.entries)
    return { id: stray.id, problem: strayText(stray.id) }
  return undefined
}

function strayText(id: number): string {
  return `entry ${id} belongs to chain ${chainOf(id)}, which is not in the register`
}

/** What is wrong with one chain. Retention may shorten it while it is read: then it is read again from its new start. */
async function chainFault(options: VerifyOptions, given: Chain, opening: string, walk: Walk): Promise<AuditFault | undefined> {
  let chain = given
  for (let attempt = 1; ; attempt++) {
    const before = { ...walk }
    const fault = await readChain(options, chain, opening, walk)
    if (fault === undefined || attempt === rereads) return fault
    const now = await options.store.chain(chain.chain)
    if (now === undefined || now.purged === chain.purged) {
      const { purged = 0 } = now === undefined ? ((await options.store.chain(registerChain)) ?? {}) : {}
      return purged >= chain.chain ? undefined : fault
    }
    Object.assign(walk, before)
    chain = now
  }
}

async function readChain({ keys, onProgress, signal, store }: VerifyOptions, chain: Chain, opening: string, walk: Walk) {
  const number = chain.chain
  const fault = sealFault(keys, chain)
  if (fault !== undefined) return { id: idOf(number, Math.max(1, chain.entries)), problem: `chain ${number} ${fault}` }
  const key = keys.find(chain.keyId) as DerivedKey
  if (openingOf(key, opening, chain) !== chain.opening)
    return { id: idOf(number, 1), problem: `chain ${number} does not follow the chain before it` }
  walk.chains += 1
  walk.open += chain.closed ? 0 : 1
  walk.purged += chain.purged
  let previous = chain.purgedHash
  let last = idOf(number, chain.purged)
  const sealed = idOf(number, chain.entries)
  for (;;) {
    signal?.throwIfAborted()
    const page = await store.entries({ after: last, to: idOf(number + 1, 0), limit: pageSize })
    for (const entry of page) {
      if (entry.id !== last + 1) return { id: last + 1, problem: `entry ${last + 1} is missing; the next one is ${entry.id}` }
      if (hashOf(key.key, previous, entry.id, entry) !== entry.hash)
        return { id: entry.id, problem: `entry ${entry.id} was altered, or is not where it was written` }
      previous = entry.hash
      last = entry.id
      if (last === sealed && previous !== chain.lastHash) return { id: last, problem: `entry ${last} is not the one that the seal names` }
      walk.entries += 1
    }
    if (page.length > 0) onProgress?.(walk.entries)
    if (page.length < pageSize) break
  }
  if (last < sealed) {
    const range = sealed === last + 1 ? `entry ${sealed} is missing` : `entries ${last + 1} to ${sealed} are missing`
    return { id: last + 1, problem: `${range}: the tail of chain ${number} was cut` }
  }
  if (last === sealed) return undefined
  const now = await store.chain(number)
  return now !== undefined && last <= idOf(number, now.entries) && sealFault(keys, now) === undefined
    ? undefined
    : { id: sealed + 1, problem: `entry ${sealed + 1} was added without the seal` }
}

/** Why a chain does not match its seals; the chain is the subject of the sentence. */
function sealFault(keys: Pick<KeyRing, 'find'>, chain: Chain): string | undefined {
  const key = keys.find(chain.keyId)
  const purgeKey = keys.find(chain.purgedKeyId)
  if (key === undefined || purgeKey === undefined) {
    const id = key === undefined ? chain.keyId : chain.purgedKeyId
    return `was sealed with the key ${id}, which is not configured; add the earlier APP_KEY to APP_KEY_BK`
  }
  if (sealOf(key, chain) !== chain.seal) return 'does not match its seal: its length or its last hash was changed'
  if (purgedSealOf(purgeKey, chain) !== chain.purgedSeal) return 'does not match the seal of its start'
  if (chain.entries >= perChain || chain.purged > chain.entries) return 'has more entries than a chain can have'
  return undefined
}
