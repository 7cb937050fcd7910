import type { Clock } from 'zin'
import { after, type Pending } from '../../pending.js'
import type { NonceStore } from './contract.js'
import type { Ledger } from './ledger.js'

/** The nonces of an app: a fast store, and a ledger for what the store would forget with its memory. */
export interface LastingNonces extends Pick<NonceStore, 'driver' | 'glance' | 'open' | 'sweep'> {
  /**
   * Takes the nonce of a request; true for exactly one copy of it, also when the store was emptied in between.
   *
   * @param timestamp of the request, and `birth` of the store as the glance gave it; ms since 1970.
   */
  claim(key: string, timestamp: number, birth: number): Pending<boolean>
}

/** @param ledger absent when the store itself lasts. `windowMs`: how far a timestamp may be off. */
export function lastingNonces(store: NonceStore, ledger: Ledger | undefined, clock: Clock, windowMs: number): LastingNonces {
  /** Asked for what is dated ahead, and for what a younger store may have forgotten; else the store alone knows. */
  const isFree = (key: string, timestamp: number, birth: number): Pending<boolean> => {
    if (ledger === undefined) return true
    if (timestamp > clock.now() + ledger.aheadMs) return ledger.claim(key, timestamp, timestamp + windowMs)
    return timestamp > birth + windowMs || after(ledger.has(key), (taken) => !taken)
  }
  return {
    driver: store.driver,
    glance: (keys) => store.glance(keys),
    claim: (key, timestamp, birth) => after(isFree(key, timestamp, birth), (free) => free && store.claim(key, timestamp + windowMs)),
    // The store first: whether it may have lost something is told by the ledger's being new or not.
    async open() {
      await store.open()
      await ledger?.begin()
    },
    async sweep() {
      await Promise.all([store.sweep(), ledger?.sweep()])
    },
  }
}
