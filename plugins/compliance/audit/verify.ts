import type { KeyRing } from '../keys.js'
import { type Chain, openingOf, purgedSealOf, registerChain, sealOf } from './chain.js'
import { chainOf, hashOf, idOf, noHash, perChain } from './entry.js'
import { type AuditFault, Faults } from './faults.js'
import type { AuditStore } from './store/contract.js'

export interface AuditReport {
  readonly intact: boolean
  /** Number of entries and chains read. */
  readonly entries: number
  readonly chains: number
  /** Chains whose process did not shut down cleanly or is still running; job outcomes of its last moment may be missing. */
  readonly open: number
  /** Entries that retention deleted from the remaining chains. */
  readonly purged: number
  /** The first fault. */
  readonly fault: AuditFault | undefined
  /** The first 20 faults, in the order of the log. */
  readonly faults: readonly AuditFault[]
  /** Number of all faults. Consecutive removed entries count as one; an entry with a changed hash makes the next one a fault as well. */
  readonly faultCount: number
}

/** Returns the result as text: that the log is intact, or its first fault and the number of faults. */
export function foundText({ chains, entries, fault, faultCount }: AuditReport): string {
  if (fault !== undefined) return faultCount === 1 ? fault.problem : `${fault.problem}; ${faultCount} faults in all`
  if (chains === 0) return 'empty: nothing has been recorded yet, or everything was deleted'
  const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`
  return `intact: ${count(entries, 'entry', 'entries')} in ${count(chains, 'chain', 'chains')}`
}

export type VerifyReader = Pick<AuditStore, 'chain' | 'chains' | 'entries'>

export interface VerifyOptions {
  readonly store: VerifyReader
  readonly keys: Pick<KeyRing, 'find'>
  /** Called periodically with the number of entries read. */
  readonly onProgress?: (entries: number) => void
  readonly signal?: AbortSignal
}

/** Entries or chains per read. */
const pageSize = 1000
/** How often a chain is read again if retention shortens it meanwhile. */
const rereads = 5

interface Walk {
  entries: number
  chains: number
  open: number
  purged: number
}

/**
 * Reads the whole log in id order and compares each entry with its hash, each chain with its seal, and the register with the chains. After
 * a fault, it continues from the stored values. The log may be written and purged meanwhile. Memory use is bounded, whatever the length of
 * the log.
 */
export async function verifyAudit(options: VerifyOptions): Promise<AuditReport> {
  const walk: Walk = { entries: 0, chains: 0, open: 0, purged: 0 }
  const faults = new Faults()
  await walkLog(options, walk, faults)
  return { ...walk, intact: faults.count === 0, fault: faults.first[0], faults: faults.first, faultCount: faults.count }
}

async function walkLog(options: VerifyOptions, walk: Walk, faults: Faults): Promise<void> {
  const { keys, store } = options
  const register = await store.chain(registerChain)
  if (register === undefined) {
    const [entry] = await store.entries({ after: 0, to: Number.MAX_SAFE_INTEGER, limit: 1 })
    if (entry === undefined) return
    faults.add(entry.id, `the register of chains is missing, but entries from ${entry.id} on exist`)
    await walkChains(options, { after: 0, opening: undefined }, walk, faults)
    return
  }
  const registerFault = sealFault(keys, register)
  if (registerFault !== undefined) faults.add(idOf(1, 0), `the register of chains ${registerFault}`)
  const [early] = await store.entries({ after: 0, to: idOf(register.purged + 1, 0), limit: 1 })
  if (early !== undefined) faults.add(early.id, strayText(early.id))
  const opening = register.purged === 0 ? noHash : register.purgedHash
  const last = await walkChains(options, { after: register.purged, opening }, walk, faults)
  // Chains may have been opened meanwhile; missing ones at the end are detected from the register.
  const now = (await store.chain(registerChain)) ?? register
  if (last < register.entries) {
    const which =
      last + 1 === register.entries
        ? `chain ${last + 1} was cut with all its entries`
        : `chains ${last + 1} to ${register.entries} were cut with all their entries`
    faults.add(idOf(last + 1, 1), which)
  } else if (last > now.entries) faults.add(idOf(now.entries + 1, 1), `chain ${now.entries + 1} was added without the register`)
  const [stray] = await store.entries({ after: idOf(Math.max(last, now.entries) + 1, 0), to: Number.MAX_SAFE_INTEGER, limit: 1 })
  const newest = stray && ((await store.chain(registerChain)) ?? now)
  if (stray !== undefined && newest !== undefined && chainOf(stray.id) > newest.entries) faults.add(stray.id, strayText(stray.id))
}

interface ChainsStart {
  /** Number of the last chain before the first one to read. */
  readonly after: number
  /** Opening of that chain; undefined if unknown. */
  readonly opening: string | undefined
}

/** Verifies all chains; returns the number of the last one. */
async function walkChains(options: VerifyOptions, start: ChainsStart, walk: Walk, faults: Faults): Promise<number> {
  let { after: last, opening } = start
  const isFirstKnown = opening !== undefined
  for (;;) {
    const page = await options.store.chains(last, pageSize)
    for (const chain of page) {
      const isNext = chain.chain === last + 1
      if (!isNext && (isFirstKnown || last > start.after)) faults.add(idOf(last + 1, 1), missingText(last + 1, chain.chain - 1))
      await walkChain(options, chain, isNext ? opening : undefined, walk, faults)
      last = chain.chain
      opening = chain.opening
    }
    if (page.length < pageSize) return last
  }
}

function missingText(from: number, to: number): string {
  return from === to ? `chain ${from} is missing with all its entries` : `chains ${from} to ${to} are missing with all their entries`
}

function strayText(id: number): string {
  return `entry ${id} belongs to chain ${chainOf(id)}, which is not in the register`
}

/** Verifies one chain. If retention shortens it meanwhile, it is read again from its new start. */
async function walkChain(options: VerifyOptions, given: Chain, opening: string | undefined, walk: Walk, faults: Faults): Promise<void> {
  let chain = given
  for (let attempt = 1; ; attempt++) {
    const before = { ...walk }
    const found = new Faults()
    await readChain(options, chain, opening, walk, found)
    if (found.count === 0) return
    const now = await options.store.chain(chain.chain)
    const isPurged = now === undefined && ((await options.store.chain(registerChain))?.purged ?? 0) >= chain.chain
    if (isPurged) return
    if (attempt === rereads || now === undefined || now.purged === chain.purged) {
      faults.addAll(found)
      return
    }
    Object.assign(walk, before)
    chain = now
  }
}

async function readChain(
  { keys, onProgress, signal, store }: VerifyOptions,
  chain: Chain,
  opening: string | undefined,
  walk: Walk,
  faults: Faults,
): Promise<void> {
  const number = chain.chain
  const fault = sealFault(keys, chain)
  if (fault !== undefined) faults.add(idOf(number, Math.max(1, chain.entries)), `chain ${number} ${fault}`)
  const key = keys.find(chain.keyId)
  if (key === undefined) return
  if (fault === undefined && opening !== undefined && openingOf(key, opening, chain) !== chain.opening)
    faults.add(idOf(number, 1), `chain ${number} does not follow the chain before it`)
  walk.chains += 1
  walk.open += chain.closed ? 0 : 1
  walk.purged += chain.purged
  let previous: string | undefined = chain.purgedHash
  let last = idOf(number, chain.purged)
  const sealed = idOf(number, chain.entries)
  for (;;) {
    signal?.throwIfAborted()
    const page = await store.entries({ after: last, to: idOf(number + 1, 0), limit: pageSize })
    for (const entry of page) {
      if (entry.id !== last + 1) {
        faults.add(last + 1, `${missingEntriesText(last + 1, entry.id - 1)}; the next one is ${entry.id}`)
        // The previous hash is unknown, so the hash of this entry cannot be verified.
        previous = undefined
      }
      const isBroken = previous !== undefined && hashOf(key.key, previous, entry.id, entry) !== entry.hash
      if (isBroken) faults.add(entry.id, `entry ${entry.id} was altered or moved`)
      previous = entry.hash
      last = entry.id
      if (fault === undefined && !isBroken && last === sealed && previous !== chain.lastHash)
        faults.add(last, `entry ${last} is not the one that the seal names`)
      walk.entries += 1
    }
    if (page.length > 0) onProgress?.(walk.entries)
    if (page.length < pageSize) break
  }
  // Without a matching seal, the length of the chain is unknown.
  if (fault !== undefined) return
  if (last < sealed) faults.add(last + 1, `${missingEntriesText(last + 1, sealed)}: the tail of chain ${number} was cut`)
  if (last <= sealed) return
  const now = await store.chain(number)
  if (now !== undefined && last <= idOf(number, now.entries) && sealFault(keys, now) === undefined) return
  faults.add(sealed + 1, `entry ${sealed + 1} was added without the seal`)
}

function missingEntriesText(from: number, to: number): string {
  return from === to ? `entry ${from} is missing` : `entries ${from} to ${to} are missing`
}

/** Returns why a chain does not match its seals, as a sentence without its subject, the chain. */
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
