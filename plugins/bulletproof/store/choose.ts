import { join } from 'node:path'
import { type Clock, storeUnavailable } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import { bulletproofErrors } from '../errors.js'
import type { StoreChoice } from '../options.js'
import { cachedDevices } from './devices/cached.js'
import type { DeviceStore } from './devices/contract.js'
import { dbDevices } from './devices/db.js'
import { kvDevices } from './devices/kv.js'
import { memoryDevices } from './devices/memory.js'
import type { NonceStore } from './nonces/contract.js'
import { dbNonces } from './nonces/db.js'
import { dbLedger } from './nonces/db-ledger.js'
import { fileLedger } from './nonces/file-ledger.js'
import { kvNonces } from './nonces/kv.js'
import type { Ledger } from './nonces/ledger.js'
import { memoryNonces } from './nonces/memory.js'

/** The services that stores may use, as currently enabled. */
export interface Backends {
  readonly kv: Kv | undefined
  readonly database: Database | undefined
}

export interface StoreOptions {
  readonly nonceStore: StoreChoice
  readonly deviceStore: StoreChoice
  readonly tombstoneMs: number
  /** Folder of the app's data. */
  readonly dataDir: string
}

export interface Stores {
  readonly devices: DeviceStore
  readonly nonces: NonceStore
  /** For a nonce store that may lose its data; undefined for a table, which does not. */
  readonly ledger: Ledger | undefined
}

/**
 * Creates the stores. The choice is made once: when a backend is disabled later, requests must be refused rather than nonces forgotten.
 * Throws BULLETPROOF_STORE_MISSING when the plugin of a chosen store is not enabled.
 */
export function chooseStores(options: StoreOptions, backends: () => Backends, clock: Clock): Stores {
  const { kv, database } = backends()
  const driver = (option: 'nonceStore' | 'deviceStore', auto: readonly ('db' | 'kv')[]): 'memory' | 'kv' | 'db' => {
    const there = { kv: kv !== undefined, db: database !== undefined }
    const choice = options[option]
    if (choice === 'auto') return auto.find((name) => there[name]) ?? 'memory'
    if (choice !== 'memory' && !there[choice])
      throw bulletproofErrors.BULLETPROOF_STORE_MISSING(`${option} "${choice}"`, choice === 'kv' ? 'kv' : 'database')
    return choice
  }
  const kvNow = (): Kv => backends().kv ?? gone('kv')
  const databaseNow = (): Database => backends().database ?? gone('database')
  const tableDevices = (): DeviceStore => {
    const store = dbDevices(databaseNow)
    return kv === undefined ? store : cachedDevices(store, kvNow, clock)
  }
  const devices = { memory: memoryDevices, kv: () => kvDevices(kvNow, options.tombstoneMs), db: tableDevices }[
    driver('deviceStore', ['db', 'kv'])
  ]()

  // Nonces in memory belong to one process, and so do the files that it writes for them.
  const folder = join(options.dataDir, 'nonces-ahead')
  const sharedLedger = database === undefined ? fileLedger(folder, clock, true) : dbLedger(databaseNow, clock)
  switch (driver('nonceStore', ['kv'])) {
    case 'memory':
      return { devices, nonces: memoryNonces(clock), ledger: fileLedger(folder, clock, false) }
    case 'kv':
      return { devices, nonces: kvNonces(kvNow, clock, sharedLedger), ledger: sharedLedger }
    case 'db':
      return { devices, nonces: dbNonces(databaseNow, clock), ledger: undefined }
  }
}

function gone(plugin: string): never {
  throw storeUnavailable(new Error(`the plugin ${plugin} is disabled`))
}
