import { createHmac } from 'node:crypto'
import type { DerivedKey } from '../keys.js'
import { noHash } from './entry.js'

/** A chain of entries, written by one process. Chain 0 is the register: its "entries" are all chains ever opened. */
export interface Chain {
  readonly chain: number
  /** Node that writes the chain. */
  readonly node: string
  /** ms since 1970. */
  readonly openedAt: number
  /** Id of the key of its opening and its hashes. */
  readonly keyId: string
  /** Links the chain to the previous chain. */
  readonly opening: string
  /** Number of entries written. The seal covers it and the last hash, so that a truncated tail is detected. */
  readonly entries: number
  readonly lastHash: string
  /** Whether its process shut down cleanly, with nothing left to write. */
  readonly closed: boolean
  /** Number of seals of the chain, from 1; 0 for the older format, whose seals do not form a chain. */
  readonly counter: number
  /** The seal before the last one. */
  readonly previousSeal: string
  /** Id of the key of the seal: that of the chain, or a later one that has replaced it. */
  readonly sealKeyId: string
  readonly seal: string
  /** Number of entries at the start that retention deleted; `purgedHash` is the hash of the last of them. */
  readonly purged: number
  readonly purgedHash: string
  readonly purgedKeyId: string
  readonly purgedSeal: string
}

type Sealed = Pick<
  Chain,
  'chain' | 'node' | 'openedAt' | 'counter' | 'previousSeal' | 'keyId' | 'opening' | 'entries' | 'lastHash' | 'closed'
>

export const registerChain = 0

const mac = ({ key }: DerivedKey, fields: readonly unknown[]): string =>
  createHmac('sha256', key).update(JSON.stringify(fields)).digest('hex')

/** Returns the link from one chain to the next. */
export function openingOf(
  key: DerivedKey,
  previous: string,
  { chain, node, openedAt }: Pick<Chain, 'chain' | 'node' | 'openedAt'>,
): string {
  return mac(key, ['opening', previous, chain, node, openedAt, key.id])
}

/**
 * Returns the seal of the head of a chain. A chain with a counter never matches a seal of the older format, nor the other way round. That of
 * the register also covers its node and time, which the opening of any other chain does.
 */
export function sealOf(key: DerivedKey, chain: Sealed): string {
  const { chain: number, closed, counter, entries, lastHash, node, openedAt, opening } = chain
  if (counter === 0) return mac(key, ['head', number, opening, entries, lastHash, closed])
  return number === registerChain ? mac(key, ['head/v3', ...coveredBy(chain), node, openedAt]) : mac(key, ['head/v2', ...coveredBy(chain)])
}

/** Whether a chain matches its seal. A register also matches one from before it covered node and time, which the next process replaces. */
export function isSealed(key: DerivedKey, chain: Chain): boolean {
  if (sealOf(key, chain) === chain.seal) return true
  return chain.chain === registerChain && chain.counter > 0 && mac(key, ['head/v2', ...coveredBy(chain)]) === chain.seal
}

function coveredBy({ chain, closed, counter, entries, keyId, lastHash, opening, previousSeal }: Sealed): readonly unknown[] {
  return [chain, counter, previousSeal, keyId, opening, entries, lastHash, closed]
}

export function purgedSealOf(key: DerivedKey, { chain, purged, purgedHash }: Pick<Chain, 'chain' | 'purged' | 'purgedHash'>): string {
  return mac(key, ['purged', chain, purged, purgedHash])
}

/** Creates a sealed chain without entries. `previous` is the opening of the previous chain. */
export function newChain(key: DerivedKey, previous: string, id: Pick<Chain, 'chain' | 'node' | 'openedAt'>): Chain {
  const opening = openingOf(key, previous, id)
  const head = { ...id, keyId: key.id, opening, entries: 0, lastHash: noHash, closed: false, counter: 1, previousSeal: noHash }
  const start = { chain: id.chain, purged: 0, purgedHash: noHash }
  return {
    ...head,
    ...start,
    sealKeyId: key.id,
    seal: sealOf(key, head),
    purgedKeyId: key.id,
    purgedSeal: purgedSealOf(key, start),
  }
}

/** Returns the chain with a new head, whose seal also covers the previous seal. */
export function withHead(key: DerivedKey, chain: Chain, head: Partial<Pick<Chain, 'entries' | 'lastHash' | 'closed'>>): Chain {
  const changed = { ...chain, ...head, counter: chain.counter + 1, previousSeal: chain.seal, sealKeyId: key.id }
  return { ...changed, seal: sealOf(key, changed) }
}

/** Returns the chain without its first entries. */
export function withoutStart(key: DerivedKey, chain: Chain, { purged, purgedHash }: Pick<Chain, 'purged' | 'purgedHash'>): Chain {
  const changed = { ...chain, purged, purgedHash, purgedKeyId: key.id }
  return { ...changed, purgedSeal: purgedSealOf(key, changed) }
}

/** Returns the chain, unchanged, with both seals made by the given key. */
export function sealedAgain(key: DerivedKey, chain: Chain): Chain {
  return withoutStart(key, withHead(key, chain, {}), chain)
}
