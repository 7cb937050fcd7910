import type { Clock } from 'zin'
import type { Database } from 'zin/plugins/database'
import type { Kv } from 'zin/plugins/kv'
import { bulletproofErrors, storeUnavailable } from '../errors.js'
import type { StoreChoice } from '../options.js'
import type { DeviceStore } from './devices/contract.js'
import { dbDevices } from './devices/db.js'
import { kvDevices } from './devices/kv.js'
import { memoryDevices } from './devices/memory.js'
import type { NonceStore } from './nonces/contract.js'
import { dbNonces } from './nonces/db.js'
import { kvNonces } from './nonces/kv.js'
import { memoryNonces } from './nonces/memory.js'

/** The services that stores may use, as they are right now. */
export interface Backends {
  readonly kv: Kv | undefined
  readonly database: Database | undefined
}

export interface StoreOptions {
  readonly nonceStore: StoreChoice
  readonly deviceStore: StoreChoice
  readonly tombstoneMs: number
}

/**
 * Makes the stores. The choice is made once: a backend that goes away later must refuse requests, not make them forget.
 * Throws BULLETPROOF_STORE_MISSING when a chosen one is not there.
 */
export function chooseStores(
  options: StoreOptions,
  backends: () => Backends,
  clock: Clock,
): { readonly devices: DeviceStore; readonly nonces: NonceStore } {
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
  const devices = { memory: memoryDevices, kv: () => kvDevices(kvNow, options.tombstoneMs), db: () => dbDevices(databaseNow) }
  const nonces = { memory: () => memoryNonces(clock), kv: () => kvNonces(kvNow, clock), db: () => dbNonces(databaseNow, clock) }
  return { devices: devices[driver('deviceStore', ['db', 'kv'])](), nonces: nonces[driver('nonceStore', ['kv'])]() }
}

function gone(plugin: string): never {
  throw storeUnavailable(new Error(`the plugin ${plugin} is disabled`))
}
