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
  /** The shared store, if the app has one; otherwise nonces are kept in this process. */
  readonly kv: () => Kv | undefined
  /** Folder for the nonces of requests dated ahead, which must outlive the process. */
  readonly folder: string
  readonly clock: Clock
  /** How far a timestamp may differ from the current time, in ms. */
  readonly windowMs: number
}

/** The nonces of signed requests, for a plugin that verifies requests itself. */
export interface RequestNonces {
  readonly driver: 'memory' | 'kv' | 'db'
  /**
   * Layer 5, to be called after all other checks: claims the nonce for exactly one copy of the request. Throws AUTH_STORE_UNAVAILABLE or
   * rejects with it. Returns a promise only when it has to wait for a store.
   *
   * @param credential identifies what verified the request: requests signed with one secret share their nonces, whatever key id they name.
   */
  claim(credential: string, claim: SignatureClaim): SignatureFault | undefined | Promise<SignatureFault | undefined>
  /** Must be called before the first claim. */
  open(): Promise<void>
  /** Deletes expired nonces; call it about every 30 s. */
  sweep(): Promise<void>
}

/** Opens nonces in the kv store of the app, or in memory; those that must survive a restart or a flush are also written to files. */
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
