import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StoresUnderTest } from '../testing/stores.js'
import type { DeviceRecord, DeviceStore } from './devices/contract.js'
import { readOne } from './lookup.js'
import { type NonceStore, nonceKey } from './nonces/contract.js'

/**
 * The behavior of every pair of stores. `open` creates fresh ones for each test and closes them afterwards. `followsClock` is false for a
 * server that expires keys by its own clock.
 */
export function describeStores(
  name: string,
  open: (test: (stores: StoresUnderTest) => Promise<void>) => Promise<void>,
  followsClock = true,
): void {
  const record = (change: Partial<DeviceRecord> = {}): DeviceRecord => ({
    deviceId: 'dev_1',
    userId: '7',
    signingSecret: 'sealed-1',
    profile: 'v1',
    createdAt: 1,
    lastSeenAt: 1,
    ...change,
  })

  describe(`devices in ${name}`, () => {
    const withDevices =
      (test: (store: DeviceStore, find: (id: string) => Promise<DeviceRecord | undefined>, all: StoresUnderTest) => Promise<void>) => () =>
        open((all) => test(all.devices, (id) => readOne(all.kv, all.devices.find(id)), all))

    it(
      'are returned as written, by their exact id',
      withDevices(async (store, find) => {
        assert.equal(await store.insert(record({ label: 'laptop' })), true)
        assert.deepEqual(await find('dev_1'), record({ label: 'laptop' }))
        for (const id of ['DEV_1', 'dev_', 'dev_%', 'dev_1 ']) assert.equal(await find(id), undefined)
      }),
    )

    it(
      'cannot be overwritten by an insert, active or removed',
      withDevices(async (store, find) => {
        await store.insert(record())
        assert.equal(await store.insert(record({ userId: '8' })), false)
        await store.remove('dev_1', 5)
        assert.equal(await store.insert(record({ userId: '8' })), false)
        assert.equal((await find('dev_1'))?.userId, '7')
      }),
    )

    it(
      'with one id can be inserted by one of many concurrent calls',
      withDevices(async (store) => {
        const users = Array.from({ length: 8 }, (_, index) => String(index))
        const won = await Promise.all(users.map((userId) => store.insert(record({ userId }))))
        assert.equal(won.filter(Boolean).length, 1)
        const lists = await Promise.all(users.map((userId) => store.list(userId)))
        assert.equal(lists.flat().length, 1)
      }),
    )

    it(
      'get a new secret by replace, which reactivates removed ones',
      withDevices(async (store, find) => {
        await store.insert(record())
        await store.replace(record({ signingSecret: 'sealed-2', lastSeenAt: 9 }))
        assert.deepEqual(await find('dev_1'), record({ signingSecret: 'sealed-2', lastSeenAt: 9 }))
        await store.remove('dev_1', 10)
        await store.replace(record({ signingSecret: 'sealed-3' }))
        assert.deepEqual(await find('dev_1'), record({ signingSecret: 'sealed-3' }))
        assert.deepEqual(
          (await store.list('7')).map(({ deviceId }) => deviceId),
          ['dev_1'],
        )
      }),
    )

    it(
      'are not replaced for another user, or when they do not exist',
      withDevices(async (store, find) => {
        assert.equal(await store.replace(record()), false)
        assert.equal(await find('dev_1'), undefined)
        await store.insert(record())
        assert.equal(await store.replace(record({ userId: '8', signingSecret: 'sealed-8' })), false)
        assert.deepEqual(await find('dev_1'), record())
        await store.remove('dev_1', 5)
        assert.equal(await store.replace(record({ userId: '8' })), false)
        assert.equal(await store.replace(record({ signingSecret: 'sealed-2' })), true)
        assert.deepEqual(await find('dev_1'), record({ signingSecret: 'sealed-2' }))
        assert.deepEqual(await store.list('8'), [])
      }),
    )

    it(
      'that are replaced, removed and changed concurrently end up either active and listed, or removed with a tombstone',
      withDevices(async (store, find) => {
        await store.insert(record())
        for (let round = 1; round <= 20; round += 1) {
          const next = `sealed-${round + 1}`
          const writes = [
            () => store.replace(record({ signingSecret: next })),
            () => store.remove('dev_1', round),
            () => store.reseal('dev_1', `sealed-${round}`, 'an-old-secret-again'),
            () => store.pin('dev_1'),
            () => store.touch('dev_1', round),
          ]
          await Promise.all([...writes.slice(round % 5), ...writes.slice(0, round % 5)].map((write) => write()))
          const found = await find('dev_1')
          const listed = (await store.list('7')).map(({ signingSecret }) => signingSecret)
          if (found?.removedAt === undefined) assert.deepEqual([found?.signingSecret, listed], [next, [next]])
          else assert.deepEqual([found.signingSecret, listed], ['', []])
          assert.equal(await store.replace(record({ signingSecret: next })), true)
        }
      }),
    )

    it(
      'keep their owner and the time of their removal, but no secret and no label',
      withDevices(async (store, find) => {
        await store.insert(record({ label: 'the laptop of Ada' }))
        assert.equal(await store.remove('dev_1', 5), true)
        assert.equal(await store.remove('dev_1', 6), false)
        assert.equal(await store.remove('dev_2', 6), false)
        assert.deepEqual(await find('dev_1'), record({ signingSecret: '', removedAt: 5 }))
        assert.deepEqual(await store.list('7'), [])
      }),
    )

    it(
      'stay removed when they are touched',
      withDevices(async (store, find) => {
        await store.insert(record())
        await store.remove('dev_1', 5)
        await store.touch('dev_1', 6)
        assert.equal((await find('dev_1'))?.removedAt, 5)
      }),
    )

    it(
      'are listed by user, with the time they were last seen',
      withDevices(async (store) => {
        for (const [deviceId, userId] of [
          ['a', '7'],
          ['b', '7'],
          ['c', '8'],
        ] as const)
          await store.insert(record({ deviceId, userId }))
        await store.touch('b', 99)
        const list = [...(await store.list('7'))].sort((one, two) => one.deviceId.localeCompare(two.deviceId))
        assert.deepEqual(
          list.map(({ deviceId, lastSeenAt }) => [deviceId, lastSeenAt]),
          [
            ['a', 1],
            ['b', 99],
          ],
        )
        assert.deepEqual(await store.list('nobody'), [])
      }),
    )

    it(
      'stay pinned until they get a new secret, whatever else is written',
      withDevices(async (store, find) => {
        const profile = async () => (await find('dev_1'))?.profile
        await store.pin('dev_1')
        assert.equal(await find('dev_1'), undefined)
        await store.insert(record())
        assert.equal(await profile(), 'v1')
        await store.pin('dev_1')
        assert.equal(await profile(), 'rfc9421')
        await store.reseal('dev_1', 'sealed-1', 'sealed-2')
        await store.touch('dev_1', 9)
        await store.pin('dev_1')
        assert.equal(await profile(), 'rfc9421')
        assert.equal((await find('dev_1'))?.signingSecret, 'sealed-2')
        assert.deepEqual(
          (await store.list('7')).map((device) => device.profile),
          ['rfc9421'],
        )
        await store.replace(record({ signingSecret: 'sealed-3' }))
        assert.equal(await profile(), 'v1')
        await store.pin('dev_1')
        await store.remove('dev_1', 10)
        await store.replace(record({ signingSecret: 'sealed-4' }))
        assert.equal(await profile(), 'v1')
      }),
    )

    it(
      'keep the profile that they were created with',
      withDevices(async (store, find) => {
        await store.insert(record({ profile: 'rfc9421' }))
        assert.deepEqual(await find('dev_1'), record({ profile: 'rfc9421' }))
        await store.replace(record({ profile: 'rfc9421', signingSecret: 'sealed-2' }))
        assert.equal((await find('dev_1'))?.profile, 'rfc9421')
      }),
    )

    it(
      'are resealed only if the secret has not changed in the meantime',
      withDevices(async (store, find) => {
        await store.insert(record())
        await store.reseal('dev_1', 'sealed-0', 'wrong')
        assert.equal((await find('dev_1'))?.signingSecret, 'sealed-1')
        await store.reseal('dev_1', 'sealed-1', 'sealed-2')
        assert.equal((await find('dev_1'))?.signingSecret, 'sealed-2')
      }),
    )

    if (followsClock)
      it(
        'lose their tombstones long after their removal',
        withDevices(async (store, find, { clock }) => {
          const day = 86_400_000
          await store.insert(record())
          await store.insert(record({ deviceId: 'dev_2' }))
          await store.remove('dev_1', clock.now())
          clock.advance(day + 1)
          await store.sweep(clock.now() - day)
          assert.equal(await find('dev_1'), undefined)
          assert.notEqual(await find('dev_2'), undefined)
          assert.equal(await store.insert(record()), true)
        }),
      )
  })

  describe(`nonces in ${name}`, () => {
    const withNonces = (test: (store: NonceStore, all: StoresUnderTest) => Promise<void>) => () => open((all) => test(all.nonces, all))
    const key = nonceKey('key:1', 'nonce')

    it(
      'are given to one of many concurrent claims',
      withNonces(async (store, { clock }) => {
        const claims = await Promise.all(Array.from({ length: 50 }, async () => store.claim(key, clock.now() + 1_000)))
        assert.equal(claims.filter(Boolean).length, 1)
      }),
    )

    if (followsClock)
      it(
        'stay taken until they expire, and are free afterwards',
        withNonces(async (store, { clock, kv }) => {
          const seen = async () => (await readOne(kv, store.glance([nonceKey('key:1', 'other'), key]))).seen
          assert.equal(await seen(), false)
          assert.equal(await store.claim(key, clock.now() + 10_000), true)
          assert.equal(await seen(), true)
          clock.advance(10_000)
          await store.sweep()
          assert.equal(await seen(), true)
          assert.equal(await store.claim(key, clock.now() + 10_000), false)
          clock.advance(10_002)
          await store.sweep()
          assert.equal(await seen(), false)
          assert.equal(await store.claim(key, clock.now() + 10_000), true)
        }),
      )

    it(
      'are scoped by credential',
      withNonces(async (store, { clock }) => {
        for (const credential of ['key:1', 'key:2', 'device:key:1'])
          assert.equal(await store.claim(nonceKey(credential, 'nonce'), clock.now() + 1_000), true)
      }),
    )

    it(
      'have a birth time that does not change',
      withNonces(async (store, { clock, kv }) => {
        const birth = async () => (await readOne(kv, store.glance([]))).birth
        await store.open()
        const first = await birth()
        assert.ok(first <= clock.now() && first > 0)
        clock.advance(5_000)
        await store.open()
        assert.equal(await birth(), first)
      }),
    )
  })
}
