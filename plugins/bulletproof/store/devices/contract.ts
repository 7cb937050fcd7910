import type { Device } from '../../contract.js'
import type { Lookup } from '../lookup.js'

/** A device with the sealed key that verifies its signatures. */
export interface DeviceRecord extends Omit<Device, 'publicKey'> {
  /** The sealed secret or public key. Empty when the device was removed. */
  readonly signingSecret: string
}

/** Stores devices. Ids are compared exactly, whatever the collation of the store. */
export interface DeviceStore {
  readonly driver: 'memory' | 'kv' | 'db'
  /** Includes removed devices for as long as their tombstones are kept. */
  find(deviceId: string): Lookup<DeviceRecord | undefined>
  /** False when a device with the id exists, active or removed. Atomic. */
  insert(record: DeviceRecord): Promise<boolean>
  /** Overwrites an existing device of the same user and reactivates a removed one. False when there is none. Atomic. */
  replace(record: DeviceRecord): Promise<boolean>
  /** Replaces the sealed secret if it is still `before`. Atomic. */
  reseal(deviceId: string, before: string, after: string): Promise<void>
  /**
   * Pins an active device to RFC 9421 until it is overwritten. A concurrent login with the device may be pinned as well; if its client
   * signs by v1, the user must log in again.
   */
  pin(deviceId: string): Promise<void>
  /** The active devices of a user, in any order. */
  list(userId: string): Promise<readonly DeviceRecord[]>
  /** Erases the secret and the label, and keeps the id as a tombstone. False when the device is not active. Atomic. */
  remove(deviceId: string, at: number): Promise<boolean>
  touch(deviceId: string, at: number): Promise<void>
  /** Deletes the tombstones of devices removed before `at`. */
  sweep(at: number): Promise<void>
}
