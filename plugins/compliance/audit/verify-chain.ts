import type { KeyRing } from '../keys.js'
import { isMissed, keptSince, type RetentionNow } from './age.js'
import { type Chain, isSealed, openingOf, purgedSealOf, registerChain } from './chain.js'
import { hashOf, idOf, numberOf, perChain } from './entry.js'
import { Faults } from './faults.js'
import { type Checkpoint, contradiction } from './places/checkpoint.js'
import type { Witness } from './places/witness.js'
import type { AuditStore } from './store/contract.js'

export type VerifyReader = Pick<AuditStore, 'chain' | 'chains' | 'entries' | 'hashes' | 'impossible'>

export interface VerifyOptions {
  readonly store: VerifyReader
  readonly keys: Pick<KeyRing, 'find' | 'ageOf'>
  /** Places outside the tables that keep seals. Default: none. */
  readonly witnesses?: readonly Witness[]
  /** Entries that are older may have been deleted, whatever the witnesses say. Default: entries of any age must be there. */
  readonly retention?: RetentionNow
  /** Called periodically with the number of entries read. */
  readonly onProgress?: (entries: number) => void
  readonly signal?: AbortSignal
}

/** The counts of a verification. */
export interface Walk {
  entries: number
  chains: number
  open: number
  purged: number
  unconfirmed: number
  earlierSeals: number
}

/** A checkpoint of a chain, with the name of the place that keeps it. */
export interface Known {
  readonly place: string
  readonly checkpoint: Checkpoint
}

/** A chain to verify. */
export interface ChainInput {
  readonly chain: Chain
  /** Opening of the chain before it; undefined if it is unknown. */
  readonly opening: string | undefined
  readonly known: readonly Known[]
}

/** Entries or chains per read. */
export const pageSize = 1000
/** How often a chain is read again if retention shortens it meanwhile. */
const rereads = 5

/** Verifies one chain. If retention shortens it meanwhile, it is read again from its new start. */
export async function walkChain(options: VerifyOptions, input: ChainInput, walk: Walk, faults: Faults): Promise<void> {
  let { chain } = input
  for (let attempt = 1; ; attempt++) {
    const before = { ...walk }
    const found = new Faults()
    await readChain(options, { ...input, chain }, walk, found)
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

async function readChain(options: VerifyOptions, { chain, known, opening }: ChainInput, walk: Walk, faults: Faults): Promise<void> {
  const { keys, onProgress, signal, store } = options
  const number = chain.chain
  const key = keys.find(chain.keyId)
  const fault = key === undefined ? unknownKeyText('written', chain.keyId) : sealFault(keys, chain)
  if (fault !== undefined) faults.add(idOf(number, Math.max(1, chain.entries)), `chain ${number} ${fault}`)
  if (key === undefined) return
  if (fault === undefined && opening !== undefined && openingOf(key, opening, chain) !== chain.opening)
    faults.add(idOf(number, 1), `chain ${number} does not follow the chain before it`)
  if (fault === undefined) await compare(options, chain, known, faults)
  await compareStart(options, chain, known, faults)
  await findDeleted(options, chain, faults)
  count(keys, chain, known, walk)
  const ends = byEnd(known)
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
      const other = isBroken ? undefined : ends.get(numberOf(last))?.find(({ checkpoint }) => checkpoint.lastHash !== entry.hash)
      if (fault === undefined && !isBroken && last === sealed && previous !== chain.lastHash)
        faults.add(last, `entry ${last} is not the one that the seal names`)
      else if (other !== undefined) faults.add(last, `entry ${last} is not the one that ${other.place} knows: the chain was rewritten`)
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

/** Compares a chain with what other places know of it. They may know more than the row that was read before them, but not than it is now. */
async function compare({ keys, store }: VerifyOptions, read: Chain, known: readonly Known[], faults: Faults): Promise<void> {
  const differs = (chain: Chain) =>
    known.map(({ checkpoint, place }) => contradiction(chain, checkpoint, place, keys.ageOf)).find((why) => why !== undefined)
  if (differs(read) === undefined) return
  const chain = (await store.chain(read.chain)) ?? read
  const why = differs(chain)
  if (why !== undefined) faults.add(idOf(chain.chain, Math.max(1, chain.entries)), `chain ${chain.chain} ${why}`)
}

/** Compares the start of a chain with where other places know it, which are told before entries are deleted, so they are asked afterwards. */
async function compareStart(
  { retention, witnesses = [] }: VerifyOptions,
  chain: Chain,
  known: readonly Known[],
  faults: Faults,
): Promise<void> {
  if (chain.purged === 0) return
  for (const witness of witnesses) {
    const { name } = witness
    const start = (await witness.starts?.([chain.chain]))?.get(chain.chain)
    const lastAt = known.find(({ place }) => place === name)?.checkpoint.lastAt
    if (start === undefined || chain.purged <= start || !isMissed(lastAt, keptSince(retention))) continue
    const what = missingEntriesText(idOf(chain.chain, start + 1), idOf(chain.chain, chain.purged))
    faults.add(idOf(chain.chain, start + 1), `${what}, but ${name} does not know that retention deleted anything there`)
  }
}

/** Finds an entry where retention has deleted all: it was added. They are deleted in the same transaction that moves the start. */
async function findDeleted({ store }: VerifyOptions, { chain, purged }: Chain, faults: Faults): Promise<void> {
  if (purged === 0) return
  const [entry] = await store.entries({ after: idOf(chain, 0), to: idOf(chain, purged), limit: 1 })
  if (entry !== undefined) faults.add(entry.id, `entry ${entry.id} was added where retention had deleted the start of chain ${chain}`)
}

/** Groups checkpoints by the last entry that they cover. */
function byEnd(known: readonly Known[]): ReadonlyMap<number, readonly Known[]> {
  const ends = new Map<number, Known[]>()
  for (const one of known) ends.set(one.checkpoint.entries, [...(ends.get(one.checkpoint.entries) ?? []), one])
  return ends
}

function count(keys: Pick<KeyRing, 'ageOf'>, chain: Chain, known: readonly Known[], walk: Walk): void {
  const confirmed = Math.max(chain.purged, ...known.map(({ checkpoint }) => checkpoint.entries))
  walk.chains += 1
  walk.open += chain.closed ? 0 : 1
  walk.purged += chain.purged
  walk.unconfirmed += Math.max(0, chain.entries - confirmed)
  walk.earlierSeals += chain.counter === 0 || (keys.ageOf(chain.sealKeyId) ?? 0) > 0 ? 1 : 0
}

export function missingEntriesText(from: number, to: number): string {
  return from === to ? `entry ${from} is missing` : `entries ${from} to ${to} are missing`
}

function unknownKeyText(what: 'sealed' | 'written', id: string): string {
  return `was ${what} with the key ${id}, which is not configured; add the earlier APP_KEY to APP_KEY_BK`
}

/** Returns why a chain does not match its seals, as a sentence without its subject, the chain. */
export function sealFault(keys: Pick<KeyRing, 'find' | 'ageOf'>, chain: Chain): string | undefined {
  const [key, startKey] = [keys.find(chain.sealKeyId), keys.find(chain.purgedKeyId)]
  if (key === undefined || startKey === undefined) return unknownKeyText('sealed', key === undefined ? chain.sealKeyId : chain.purgedKeyId)
  if (!isSealed(key, chain)) return 'does not match its seal: its length, its last hash or what else it covers was changed'
  if (purgedSealOf(startKey, chain) !== chain.purgedSeal) return 'does not match the seal of its start'
  if (chain.counter > 0 && (keys.ageOf(startKey.id) ?? 0) > (keys.ageOf(key.id) ?? 0))
    return `has a start that was sealed with the earlier key ${startKey.id} after the key ${key.id} had replaced it`
  if (chain.entries >= perChain || chain.purged > chain.entries) return 'has more entries than a chain can have'
  return undefined
}
