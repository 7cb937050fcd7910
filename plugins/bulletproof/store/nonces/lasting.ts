import type { Clock } from 'zin'
import { after, type Pending } from '../../pending.js'
import type { NonceStore } from './contract.js'
import type { Ledger } from './ledger.js'

/** The nonces of an app: a fast store, and a ledger for those that must survive the loss of the store's data. */
export interface LastingNonces extends Pick<NonceStore, 'driver' | 'glance' | 'open' | 'sweep'> {
  /**
   * Claims the nonce of a request; true for exactly one copy of it, even when the store was flushed between two copies.
   *
   * @param timestamp of the request, ms since 1970.
   * @param birth of the store, as returned by `glance`, ms since 1970.
   */
  claim(key: string, timestamp: number, birth: number): Pending<boolean>
}

/**
 * Combines a store with its ledger.
 *
 * @param ledger undefined when the store itself is durable.
 * @param windowMs how far a timestamp may differ from the current time, in ms.
 */
export function lastingNonces(store: NonceStore, ledger: Ledger | undefined, clock: Clock, windowMs: number): LastingNonces {
  /** The ledger is used for requests dated ahead, and for those that a younger store may have lost; otherwise the store alone decides. */
  const isFree = (key: string, timestamp: number, birth: number): Pending<boolean> => {
    if (ledger === undefined) return true
    if (timestamp > clock.now() + ledger.aheadMs) return ledger.claim(key, timestamp, timestamp + windowMs)
    return timestamp > birth + windowMs || after(ledger.has(key), (taken) => !taken)
  }
  return {
    driver: store.driver,
    glance: (keys) => store.glance(keys),
    claim: (key, timestamp, birth) => after(isFree(key, timestamp, birth), (free) => free && store.claim(key, timestamp + windowMs)),
    // The store first: it finds out whether it can have lost nonces by whether the ledger is new.
    async open() {
      await store.open()
      await ledger?.begin()
    },
    async sweep() {
      await Promise.all([store.sweep(), ledger?.sweep()])
    },
  }
}
