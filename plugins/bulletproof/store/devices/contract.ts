import type { Device } from '../../devices.js'
import type { Lookup } from '../lookup.js'

/** A device with its sealed secret; the secret of a removed one is empty. */
export interface DeviceRecord extends Device {
  readonly signingSecret: string
}

/** Where devices are kept. Ids are compared exactly, whatever the store's collation. */
export interface DeviceStore {
  readonly driver: 'memory' | 'kv' | 'db'
  /** Removed ones too, while they are remembered. */
  find(deviceId: string): Lookup<DeviceRecord | undefined>
  /** False when the id is known, in use or removed. Atomic. */
  insert(record: DeviceRecord): Promise<boolean>
  /** Writes over a known device; a removed one is in use again. */
  replace(record: DeviceRecord): Promise<void>
  /** Swaps the sealed secret if it still is `before`. */
  reseal(deviceId: string, before: string, after: string): Promise<void>
  /** Devices in use, in any order. */
  list(userId: string): Promise<readonly DeviceRecord[]>
  /** Erases the secret and remembers the id. False when it is not in use. */
  remove(deviceId: string, at: number): Promise<boolean>
  touch(deviceId: string, at: number): Promise<void>
  /** Forgets devices removed before `at`. */
  sweep(at: number): Promise<void>
}
