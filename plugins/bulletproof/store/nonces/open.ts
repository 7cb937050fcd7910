import { join } from 'node:path'
import type { Clock } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import { checkFence, replayed, type SignatureClaim, type SignatureFault } from 'zin/signing'
import { needingStore } from '../../errors.js'
import { after } from '../../pending.js'
import { readTogether } from '../lookup.js'
import { nonceKey } from './contract.js'
import { fileLedger } from './file-ledger.js'
import { kvNonces } from './kv.js'
import { lastingNonces } from './lasting.js'
import { memoryNonces } from './memory.js'

export interface RequestNoncesOptions {
  /** The shared store, when the app has one; else the nonces belong to this process. */
  readonly kv: () => Kv | undefined
  /** For the nonces of requests that are dated ahead, which must outlive the process. */
  readonly folder: string
  readonly clock: Clock
  /** How far a timestamp may be off, in ms. */
  readonly windowMs: number
}

/** Nonces of signed requests, for a plugin that verifies them itself. */
export interface RequestNonces {
  readonly driver: 'memory' | 'kv' | 'db'
  /**
   * Layer 5, after everything else was checked: takes the nonce, for exactly one copy of the request. Throws AUTH_STORE_UNAVAILABLE, or
   * rejects with it. A promise only when a store has to be waited for.
   *
   * @param credential what verified the request: requests of one secret share their nonces, whatever key id they name.
   */
  claim(credential: string, claim: SignatureClaim): SignatureFault | undefined | Promise<SignatureFault | undefined>
  /** To be called before the first claim. */
  open(): Promise<void>
  /** Forgets what has expired; to be called every 30 s or so. */
  sweep(): Promise<void>
}

/** Nonces in the kv store of the app, or in memory with a file for what memory would forget. */
export function openNonces({ kv, folder, clock, windowMs }: RequestNoncesOptions): RequestNonces {
  const isShared = kv() !== undefined
  const ledger = fileLedger(join(folder, 'nonces-ahead'), clock, isShared)
  const store = isShared ? kvNonces(() => kv() ?? gone(), clock, ledger) : memoryNonces(clock)
  const nonces = lastingNonces(store, ledger, clock, windowMs)
  return {
    driver: nonces.driver,
    claim: (credential, claim) =>
      needingStore(() => {
        const key = nonceKey(credential, claim.nonce)
        return after(readTogether(kv(), nonces.glance([key])), ([{ birth, seen }]) => {
          const old = seen ? replayed : checkFence(claim, birth)
          if (old !== undefined) return old
          return after(nonces.claim(key, Number(claim.timestamp), birth), (taken) => (taken ? undefined : replayed))
        })
      }),
    open: () => nonces.open(),
    sweep: () => nonces.sweep(),
  }
}

function gone(): never {
  throw new Error('the plugin kv is disabled')
}
