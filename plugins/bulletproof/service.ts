import { randomBytes } from 'node:crypto'
import type { Clock } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import { KEY_ID_PATTERN, type Sealer } from 'zin/signing'
import type { Device, Devices, Enrolment } from './contract.js'
import { checkPublicKey, markPublicKey, publicKeyIn } from './device-key.js'
import { bulletproofErrors, needingStore } from './errors.js'
import type { DeviceRecord, DeviceStore } from './store/devices/contract.js'
import { readOne } from './store/lookup.js'

export interface DeviceParts {
  readonly store: DeviceStore
  readonly sealer: Sealer
  readonly kv: () => Pick<Kv, 'getMany'> | undefined
  readonly clock: Clock
  readonly maxPerUser: number
  /** Key ids of callers with the shared secret. A device with such an id would shadow them. */
  readonly reservedIds: ReadonlySet<string>
  /** Called with the id of each device whose secret is no longer valid. */
  readonly changed: (deviceId: string) => void
  /** Called with each device that was removed. */
  readonly removed: (device: Pick<Device, 'deviceId' | 'userId'>) => Promise<void>
}

const MAX_USER_ID = 191
const MAX_LABEL = 100

/** Implements `devicesService`. */
export function createDevices({ store, sealer, kv, clock, maxPerUser, reservedIds, changed, removed }: DeviceParts): Devices {
  const find = (deviceId: string): Promise<DeviceRecord | undefined> => readOne(kv(), store.find(deviceId))
  const used = async (userId: string): Promise<DeviceRecord[]> =>
    [...(await store.list(userId))].sort((a, b) => b.lastSeenAt - a.lastSeenAt)
  const end = async ({ deviceId, userId }: DeviceRecord): Promise<boolean> => {
    const wasUsed = await store.remove(deviceId, clock.now())
    changed(deviceId)
    // Also for one that was removed before: an earlier call may have failed halfway.
    await removed({ deviceId, userId })
    return wasUsed
  }
  const newRecord = (deviceId: string, { userId, label, publicKey }: Enrolment, secret: string): DeviceRecord => ({
    deviceId,
    userId,
    signingSecret: sealer.seal(publicKey === undefined ? secret : markPublicKey(publicKey), { deviceId, userId }),
    profile: publicKey === undefined ? 'v1' : 'rfc9421',
    createdAt: clock.now(),
    lastSeenAt: clock.now(),
    ...(label === undefined || label === '' ? {} : { label: label.slice(0, MAX_LABEL) }),
  })

  /** Enrolls the device under the requested id if that is free or belongs to the user. */
  const takeWanted = async (enrolment: Enrolment, secret: string): Promise<DeviceRecord | undefined> => {
    const { deviceId, userId } = enrolment
    if (deviceId === undefined || !KEY_ID_PATTERN.test(deviceId) || deviceId.startsWith('zin-') || reservedIds.has(deviceId))
      return undefined
    const known = await find(deviceId)
    const record = newRecord(deviceId, enrolment, secret)
    if (known === undefined) return (await store.insert(record)) ? record : undefined
    if (known.userId !== userId) return undefined
    const label = record.label ?? known.label
    const renewed = { ...record, createdAt: known.createdAt, ...(label === undefined ? {} : { label }) }
    const replaced = await store.replace(renewed)
    changed(deviceId)
    return replaced ? renewed : undefined
  }

  const enroll = async (enrolment: Enrolment): Promise<DeviceRecord & { readonly secret: string }> => {
    const secret = enrolment.publicKey === undefined ? randomBytes(32).toString('base64url') : ''
    const wanted = await takeWanted(enrolment, secret)
    const record = wanted ?? newRecord(`dev_${randomBytes(16).toString('hex')}`, enrolment, secret)
    if (wanted === undefined && !(await store.insert(record))) throw new Error('a random device id is already in use')
    const others = (await used(enrolment.userId)).filter((device) => device.deviceId !== record.deviceId)
    for (const device of others.slice(maxPerUser - 1)) await end(device)
    return { ...record, secret }
  }

  const shown = ({ signingSecret, ...device }: DeviceRecord): Device => {
    const opened = signingSecret === '' ? undefined : sealer.unseal(signingSecret, device)
    const publicKey = opened && publicKeyIn(opened.secret)
    return { ...device, ...(publicKey === undefined ? {} : { publicKey }) }
  }

  return {
    async enroll(enrolment) {
      const { userId, publicKey } = enrolment
      if (publicKey !== undefined) checkPublicKey(publicKey)
      if (userId === '' || userId.length > MAX_USER_ID) throw bulletproofErrors.USER_ID_INVALID(MAX_USER_ID)
      const { secret, ...record } = await needingStore(() => enroll(enrolment))
      return { device: shown(record), secret }
    },
    async get(deviceId) {
      const record = KEY_ID_PATTERN.test(deviceId) ? await needingStore(() => find(deviceId)) : undefined
      return record && shown(record)
    },
    async list(userId) {
      return (await needingStore(() => used(userId))).map(shown)
    },
    async remove(deviceId, userId) {
      if (!KEY_ID_PATTERN.test(deviceId)) return false
      return needingStore(async () => {
        const record = await find(deviceId)
        if (record === undefined || (userId !== undefined && record.userId !== userId)) return false
        return end(record)
      })
    },
    async removeAll(userId) {
      return needingStore(async () => {
        const ended = await Promise.all((await used(userId)).map((device) => end(device)))
        return ended.filter(Boolean).length
      })
    },
  }
}
