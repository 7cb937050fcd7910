import type { Device } from '../../contract.js'
import type { Lookup } from '../lookup.js'

/** A device with what its signatures are checked with. */
export interface DeviceRecord extends Omit<Device, 'publicKey'> {
  /** Sealed: its secret, or its public key. Empty when it was removed. */
  readonly signingSecret: string
}

/** Where devices are kept. Ids are compared exactly, whatever the store's collation. */
export interface DeviceStore {
  readonly driver: 'memory' | 'kv' | 'db'
  /** Removed ones too, while they are remembered. */
  find(deviceId: string): Lookup<DeviceRecord | undefined>
  /** False when the id is known, in use or removed. Atomic. */
  insert(record: DeviceRecord): Promise<boolean>
  /** Writes over a known device of the same user; a removed one is in use again. False when there is none. Atomic. */
  replace(record: DeviceRecord): Promise<boolean>
  /** Swaps the sealed secret if it still is `before`. Atomic. */
  reseal(deviceId: string, before: string, after: string): Promise<void>
  /**
   * From now on a device in use signs by RFC 9421 only, until it is written over. A login with the device in the same instant
   * can be pinned with it; if it was to sign by v1, its user logs in again.
   */
  pin(deviceId: string): Promise<void>
  /** Devices in use, in any order. */
  list(userId: string): Promise<readonly DeviceRecord[]>
  /** Erases the secret and remembers the id. False when it is not in use. Atomic. */
  remove(deviceId: string, at: number): Promise<boolean>
  touch(deviceId: string, at: number): Promise<void>
  /** Forgets devices removed before `at`. */
  sweep(at: number): Promise<void>
}
