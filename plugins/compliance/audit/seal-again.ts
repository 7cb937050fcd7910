import { complianceErrors } from '../errors.js'
import type { KeyRing } from '../keys.js'
import { type Chain, registerChain, sealedAgain } from './chain.js'
import { idOf } from './entry.js'
import { type Checkpoint, checkpointOf, contradiction } from './places/checkpoint.js'
import type { SecondPlace } from './places/second-place.js'
import type { AuditStore } from './store/contract.js'
import { sealFault } from './verify-chain.js'

export interface SealAgainInput {
  readonly store: AuditStore
  readonly keys: KeyRing
  readonly place: Pick<SecondPlace, 'moveStart' | 'put' | 'raise' | 'read' | 'starts'> | undefined
  /** Live nodes. */
  readonly alive: ReadonlySet<string>
  /** ms since 1970. */
  readonly now: number
  /** Maximum number of chains to seal again. */
  readonly steps: number
}

export interface SealedAgain {
  /** Chains whose last seal was made with an earlier key or in the older format, and now is made with the current key. */
  readonly sealed: number
  /** Chains that the second place had lost. */
  readonly lost: number
  /** Whether more may be left. */
  readonly more: boolean
}

export function sealedText(chains: number): string {
  return chains === 1
    ? '1 chain of an ended process was sealed with the current key'
    : `${chains} chains of ended processes were sealed with the current key`
}

export function lostText(chains: number): string {
  const what = chains === 1 ? '1 chain of an ended process, which was' : `${chains} chains of ended processes, which were`
  return `kv had no seal of ${what} stored there again: until then, cutting off the end would have gone unnoticed`
}

/** Chains per read. */
const pageSize = 100
/** A process may write before its node is listed, in ms. */
const startMs = 300_000

/**
 * Seals the chains of ended processes with the current key, so that an earlier key is worthless afterwards, and brings the second place up
 * to date. A chain that is not intact is left for the verification to find. Throws AUDIT_KEY_UNKNOWN in a process with an earlier key.
 */
export async function sealAgain(input: SealAgainInput): Promise<SealedAgain> {
  const { keys, steps, store } = input
  const register = await store.chain(registerChain)
  if (register !== undefined && keys.find(register.sealKeyId) === undefined) throw complianceErrors.AUDIT_KEY_UNKNOWN(register.sealKeyId)
  let [sealed, lost] = [0, 0]
  // Until a chain is opened with the current key, the earlier one has not been replaced.
  if (register?.sealKeyId !== keys.current.id) return { sealed, lost, more: false }
  await input.place?.raise(register.entries)
  let last = register.purged
  for (;;) {
    const page = await store.chains(last, pageSize)
    const numbers = page.map(({ chain }) => chain)
    const [known, starts] = [await input.place?.read(numbers), await input.place?.starts(numbers)]
    for (const chain of page) {
      if (sealed === steps) return { sealed, lost, more: true }
      const record = known?.find((one) => one.chain === chain.chain)
      if (starts?.has(chain.chain) === false) await input.place?.moveStart(chain.chain, chain.purged)
      if (hasEnded(input, chain) && isIntact(input, chain, record)) {
        const ended = needsSeal(keys, chain) ? sealedAgain(keys.current, chain) : chain
        if (ended !== chain && !(await store.replaceSeals(chain, ended))) continue
        sealed += ended === chain ? 0 : 1
        lost += known !== undefined && record === undefined && chain.counter > 0 ? 1 : 0
        if (record?.counter !== ended.counter || record.lastAt === undefined) await bringToPlace(input, ended, record)
      }
    }
    last = page.at(-1)?.chain ?? last
    if (page.length < pageSize) return { sealed, lost, more: false }
  }
}

/** The row does not have the time of the newest entry. */
async function bringToPlace({ place, store }: SealAgainInput, ended: Chain, record: Checkpoint | undefined): Promise<void> {
  const { chain, entries } = ended
  const [last] = await store.entries({ after: idOf(chain, entries) - 1, to: idOf(chain, entries), limit: 1 })
  const lastAt = Math.max(record?.lastAt ?? 0, last?.at ?? 0)
  await place?.put({ ...checkpointOf(ended), lastAt })
}

function hasEnded({ alive, now }: SealAgainInput, { closed, node, openedAt }: Chain): boolean {
  return closed || (!alive.has(node) && openedAt < now - startMs)
}

function isIntact({ keys }: SealAgainInput, chain: Chain, record: Checkpoint | undefined): boolean {
  return sealFault(keys, chain) === undefined && (record === undefined || contradiction(chain, record, 'kv', keys.ageOf) === undefined)
}

function needsSeal({ current }: KeyRing, { counter, sealKeyId }: Chain): boolean {
  return counter === 0 || sealKeyId !== current.id
}
