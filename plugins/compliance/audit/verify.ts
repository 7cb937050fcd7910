import { isMissed, keptSince } from './age.js'
import { type Chain, registerChain } from './chain.js'
import { chainOf, idOf, noHash } from './entry.js'
import { type AuditFault, Faults } from './faults.js'
import { type Known, pageSize, sealFault, type VerifyOptions, type Walk, walkChain } from './verify-chain.js'
import { compareLines } from './verify-lines.js'

export interface AuditReport {
  readonly intact: boolean
  /** Number of entries and chains read. */
  readonly entries: number
  readonly chains: number
  /** Chains whose process did not shut down cleanly or is still running; job outcomes of its last moment may be missing. */
  readonly open: number
  /** Entries that retention deleted from the remaining chains. */
  readonly purged: number
  /** Entries at the ends of chains that neither kv nor the anchor file confirms: it would go unnoticed if they had been cut off. */
  readonly unconfirmed: number
  /** Chains whose last seal was made with an earlier key, or in an older format. They are sealed again once their process has ended. */
  readonly earlierSeals: number
  /** The first fault. */
  readonly fault: AuditFault | undefined
  /** The first 20 faults, in the order of the log; those that only the anchor shows are last. */
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

/**
 * Reads the whole log in id order and compares each entry with its hash, each chain with its seal and with what the witnesses know, and the
 * register with the chains; then each line of an anchor with the log. After a fault, it continues from the stored values. The log may be
 * written and purged meanwhile. Memory use is bounded, whatever the length of the log and of the anchor.
 */
export async function verifyAudit(options: VerifyOptions): Promise<AuditReport> {
  const walk: Walk = { entries: 0, chains: 0, open: 0, purged: 0, unconfirmed: 0, earlierSeals: 0 }
  const faults = new Faults()
  await walkLog(options, walk, faults)
  for (const witness of options.witnesses ?? []) await compareLines(options, witness, faults)
  return { ...walk, intact: faults.count === 0, fault: faults.first[0], faults: faults.first, faultCount: faults.count }
}

async function walkLog(options: VerifyOptions, walk: Walk, faults: Faults): Promise<void> {
  const { keys, store, witnesses = [] } = options
  // Read before the register, which is then at least as new.
  const highest = await Promise.all(witnesses.map(async (witness) => ({ name: witness.name, chains: await witness.chains() })))
  const impossible = await store.impossible()
  if (impossible !== undefined) faults.add(idOf(0, 0), impossible)
  const register = await store.chain(registerChain)
  if (register === undefined) {
    const [entry] = await store.entries({ after: 0, to: Number.MAX_SAFE_INTEGER, limit: 1 })
    if (entry !== undefined) faults.add(entry.id, `the register of chains is missing, but entries from ${entry.id} on exist`)
    for (const { chains, name } of highest)
      if (chains > 0) faults.add(idOf(1, 1), `the register of chains is missing, but ${name} knows ${chains} chains`)
    if (entry !== undefined) await walkChains(options, { after: 0, opening: undefined }, walk, faults)
    return
  }
  const registerFault = sealFault(keys, register)
  if (registerFault !== undefined) faults.add(idOf(1, 0), `the register of chains ${registerFault}`)
  const [early] = await store.entries({ after: 0, to: idOf(register.purged + 1, 0), limit: 1 })
  if (early !== undefined) faults.add(early.id, strayText(early.id))
  const [gone] = await store.chains(registerChain, 1)
  if (gone !== undefined && gone.chain <= register.purged)
    faults.add(idOf(gone.chain, 1), `chain ${gone.chain} was added: the chains up to ${register.purged} were deleted`)
  await findRemoved(options, register, faults)
  const opening = register.purged === 0 ? noHash : register.purgedHash
  const { age, last } = await walkChains(options, { after: register.purged, opening }, walk, faults)
  // Chains may have been opened meanwhile; missing ones at the end are detected from the register.
  const now = (await store.chain(registerChain)) ?? register
  if (registerFault === undefined && now.counter > 0 && (keys.ageOf(now.sealKeyId) ?? 0) > age)
    faults.add(idOf(1, 0), `the register of chains was sealed with the earlier key ${now.sealKeyId} after a later key had replaced it`)
  if (last < register.entries) faults.add(idOf(last + 1, 1), cutText(last + 1, register.entries))
  else if (last > now.entries) faults.add(idOf(now.entries + 1, 1), `chain ${now.entries + 1} was added without the register`)
  const cut = highest.find(({ chains }) => chains > register.entries)
  if (cut !== undefined) faults.add(idOf(register.entries + 1, 1), `${cutText(register.entries + 1, cut.chains)}: ${cut.name} knows of it`)
  const [stray] = await store.entries({ after: idOf(Math.max(last, now.entries) + 1, 0), to: Number.MAX_SAFE_INTEGER, limit: 1 })
  const newest = stray && ((await store.chain(registerChain)) ?? now)
  if (stray !== undefined && newest !== undefined && chainOf(stray.id) > newest.entries) faults.add(stray.id, strayText(stray.id))
}

/** Finds chains that a witness still knows with newer entries, before the first one: retention forgets a chain there before it deletes it. */
async function findRemoved({ retention, witnesses = [] }: VerifyOptions, { purged }: Chain, faults: Faults): Promise<void> {
  for (const witness of witnesses.filter(({ starts }) => starts !== undefined)) {
    for (let from = 1; from <= purged; from += pageSize) {
      const numbers = Array.from({ length: Math.min(pageSize, purged - from + 1) }, (_, index) => from + index)
      for (const { chain, entries, lastAt } of await witness.read(numbers)) {
        if (entries === 0 || !isMissed(lastAt, keptSince(retention))) continue
        faults.add(idOf(chain, 1), `${missingText(chain, chain)}, but ${witness.name} does not know that retention deleted it`)
      }
    }
  }
}

interface ChainsStart {
  /** Number of the last chain before the first one to read. */
  readonly after: number
  /** Opening of that chain; undefined if unknown. */
  readonly opening: string | undefined
}

interface ChainsEnd {
  /** Number of the last chain. */
  readonly last: number
  /** Position of the newest key of a chain: 0 for the current one. */
  readonly age: number
}

/** Verifies all chains. A key is replaced by the first chain of a later one: chains opened with it afterwards are faults. */
async function walkChains(options: VerifyOptions, start: ChainsStart, walk: Walk, faults: Faults): Promise<ChainsEnd> {
  const { keys, store } = options
  let { after: last, opening } = start
  let age = Number.POSITIVE_INFINITY
  const isFirstKnown = opening !== undefined
  for (;;) {
    const page = await store.chains(last, pageSize)
    const known = await readWitnesses(options, page)
    for (const chain of page) {
      const isNext = chain.chain === last + 1
      if (!isNext && (isFirstKnown || last > start.after)) faults.add(idOf(last + 1, 1), missingText(last + 1, chain.chain - 1))
      const keyAge = keys.ageOf(chain.keyId) ?? age
      if (keyAge > age) faults.add(idOf(chain.chain, 1), replacedKeyText(chain))
      age = Math.min(age, keyAge)
      await walkChain(options, { chain, opening: isNext ? opening : undefined, known: known.get(chain.chain) ?? [] }, walk, faults)
      last = chain.chain
      opening = chain.opening
    }
    if (page.length < pageSize) return { last, age }
  }
}

/** Returns what the witnesses know of chains, by the number of the chain. */
async function readWitnesses({ witnesses = [] }: VerifyOptions, page: readonly Chain[]): Promise<ReadonlyMap<number, readonly Known[]>> {
  const numbers = page.map(({ chain }) => chain)
  const known = new Map<number, Known[]>()
  for (const witness of witnesses) {
    for (const checkpoint of await witness.read(numbers)) {
      const { chain } = checkpoint
      known.set(chain, [...(known.get(chain) ?? []), { place: witness.name, checkpoint }])
    }
  }
  return known
}

function replacedKeyText({ chain, keyId }: Chain): string {
  return `chain ${chain} was opened with the earlier key ${keyId} after a later key had replaced it; if no process runs with that key, check that APP_KEY_BK lists the newest key first`
}

function cutText(from: number, to: number): string {
  return from === to ? `chain ${from} was cut with all its entries` : `chains ${from} to ${to} were cut with all their entries`
}

function missingText(from: number, to: number): string {
  return from === to ? `chain ${from} is missing with all its entries` : `chains ${from} to ${to} are missing with all their entries`
}

function strayText(id: number): string {
  return `entry ${id} belongs to chain ${chainOf(id)}, which is not in the register`
}
