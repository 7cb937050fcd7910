import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestHost, fakeClock, type TestHost, type TestHostOptions } from 'zin/testing'
import { KeyIndex, type Kv, kvService, updateKey } from './index.js'

export interface KvContractStore {
  readonly host: TestHostOptions
  /** Advances the time of the store. */
  readonly pass: 'clock' | 'wait'
}

/** The behavior of every backend, through the service of a booted host. */
export function kvContract(name: string, makeStore: () => Promise<KvContractStore>): void {
  describe(`kv on ${name}`, () => {
    const clock = fakeClock()
    let host: TestHost
    let kv: Kv
    let pass: (ms: number) => Promise<void>

    before(async () => {
      const store = await makeStore()
      host = await createTestHost({ ...store.host, ...(store.pass === 'clock' && { clock }) })
      kv = host.service(kvService)
      pass = store.pass === 'clock' ? async (ms) => void clock.advance(ms) : (ms) => new Promise((resolve) => setTimeout(resolve, ms + 5))
    })
    after(() => host.stop())

    it('returns a value that was set, and null for an unset key', async () => {
      assert.equal(await kv.get('text'), null)
      const value = `{"a":"'ünï🎈"}${'x'.repeat(100_000)}`
      assert.equal(await kv.set('text', value), true)
      assert.equal(await kv.get('text'), value)
      assert.equal(await kv.set('text', ''), true)
      assert.equal(await kv.get('text'), '')
    })

    it('distinguishes keys by case, trailing spaces and every byte of long keys', async () => {
      const long = 'k'.repeat(1000)
      const keys = ['Key', 'key', 'key ', 'kéy', `${long}1`, `${long}2`]
      for (const [i, key] of keys.entries()) await kv.set(key, String(i))
      assert.deepEqual(await kv.getMany(keys), ['0', '1', '2', '3', '4', '5'])
    })

    it('returns many values in the order of the keys', async () => {
      await kv.set('many:1', 'one')
      await kv.set('many:2', 'two')
      assert.deepEqual(await kv.getMany(['many:2', 'none', 'many:1', 'many:2']), ['two', null, 'one', 'two'])
      assert.deepEqual(await kv.getMany([]), [])
    })

    it('expires a key at the end of its TTL', async () => {
      await kv.set('short', 'x', { ttlMs: 40 })
      assert.equal(await kv.get('short'), 'x')
      await pass(40)
      assert.equal(await kv.get('short'), null)
      assert.deepEqual(await kv.getMany(['short']), [null])
      assert.equal(await kv.delete('short'), false)
    })

    it('keeps a key whose new value has no TTL', async () => {
      await kv.set('kept', 'x', { ttlMs: 40 })
      await kv.set('kept', 'y')
      await pass(40)
      assert.equal(await kv.get('kept'), 'y')
    })

    it('deletes a key, and reports whether it existed', async () => {
      await kv.set('gone', 'x')
      assert.equal(await kv.delete('gone'), true)
      assert.equal(await kv.delete('gone'), false)
      assert.equal(await kv.get('gone'), null)
    })

    it('sets an absent key once among 30 concurrent calls, and again after it expired', async () => {
      const race = async () => {
        const won = await Promise.all(Array.from({ length: 30 }, (_, i) => kv.set('nonce', `v${i}`, { ifAbsent: true, ttlMs: 500 })))
        return won.filter(Boolean).length
      }
      assert.equal(await race(), 1)
      assert.equal(await race(), 0)
      await pass(500)
      assert.equal(await race(), 1)
    })

    it('overwrites the expected value only', async () => {
      assert.equal(await kv.set('swap', 'b', { ifValue: 'a' }), false)
      assert.equal(await kv.get('swap'), null)
      await kv.set('swap', 'é')
      for (const other of ['É', 'e', 'é ', '', 'éé']) assert.equal(await kv.set('swap', 'x', { ifValue: other }), false)
      assert.equal(await kv.set('swap', 'é', { ifValue: 'é' }), true)
      assert.equal(await kv.set('swap', '', { ifValue: 'é' }), true)
      assert.equal(await kv.set('swap', 'z', { ifValue: '' }), true)
      assert.equal(await kv.get('swap'), 'z')
    })

    it('lets one of 30 concurrent calls overwrite a value, with its TTL', async () => {
      await kv.set('race', 'begin', { ttlMs: 60_000 })
      const won = await Promise.all(Array.from({ length: 30 }, (_, i) => kv.set('race', `v${i}`, { ifValue: 'begin' })))
      assert.deepEqual(won.filter(Boolean), [true])
      assert.equal(await kv.get('race'), `v${won.indexOf(true)}`)
      assert.equal(await kv.set('race', 'short', { ifValue: `v${won.indexOf(true)}`, ttlMs: 40 }), true)
      await pass(40)
      assert.equal(await kv.set('race', 'late', { ifValue: 'short' }), false)
      assert.equal(await kv.get('race'), null)
    })

    it('applies each of 20 concurrent updates of a key once, and writes nothing when the change returns undefined', async () => {
      const add = () => updateKey(kv, 'updated', (value) => ({ value: `${value ?? ''}x` }))
      const updates = await Promise.all(Array.from({ length: 20 }, add))
      assert.equal(await kv.get('updated'), 'x'.repeat(20))
      assert.deepEqual(
        updates.map((update) => update?.before?.length ?? 0).toSorted((a, b) => a - b),
        Array.from({ length: 20 }, (_, i) => i),
      )
      assert.equal(await updateKey(kv, 'updated', () => undefined), undefined)
      await updateKey(kv, 'updated', (value) => ({ value: `${value}!`, ttlMs: 40 }))
      await pass(40)
      assert.deepEqual(await updateKey(kv, 'updated', (value) => ({ value: String(value) })), { before: null, after: 'null' })
    })

    it('rejects an update when other writes come first in every attempt', async () => {
      let reads = 0
      const outrun = updateKey(kv, 'outrun', async () => {
        await kv.set('outrun', String((reads += 1)))
        return { value: 'mine' }
      })
      await assert.rejects(outrun, { code: 'KV_CONTENDED', status: 503 })
      assert.deepEqual([reads, await kv.get('outrun')], [100, '100'])
    })

    it('indexes members that two processes add and remove concurrently', async () => {
      const [here, there] = [new KeyIndex(() => kv, 'index'), new KeyIndex(() => kv, 'index')]
      assert.deepEqual(here.read(await kv.get(here.key)), new Map())
      await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? here : there).add(`id-${i}`, `name-${i >> 1}`)))
      await Promise.all(Array.from({ length: 18 }, (_, i) => (i % 2 === 0 ? there : here).remove(`id-${i}`)))
      const members = here.read(await kv.get(here.key))
      assert.deepEqual(
        new Map([...members].toSorted()),
        new Map([
          ['id-18', 'name-9'],
          ['id-19', 'name-9'],
        ]),
      )
    })

    it('counts 50 concurrent increments without losing one', async () => {
      const sums = await Promise.all(Array.from({ length: 50 }, () => kv.increment('counter')))
      assert.deepEqual(
        sums.toSorted((a, b) => a - b),
        Array.from({ length: 50 }, (_, i) => i + 1),
      )
      assert.equal(await kv.increment('counter', { by: -7 }), 43)
      assert.equal(await kv.get('counter'), '43')
    })

    it('starts the TTL of a counter at its first increment', async () => {
      assert.equal(await kv.increment('window', { ttlMs: 400 }), 1)
      await pass(250)
      assert.equal(await kv.increment('window', { ttlMs: 400 }), 2)
      await pass(250)
      assert.equal(await kv.increment('window', { ttlMs: 400 }), 1)
    })

    it('returns the time since which it has kept its data, and resets it after a flush', async () => {
      const birth = await kv.birth()
      assert.ok(birth > 0)
      assert.deepEqual(await kv.getMany([kv.birthKey]), [String(birth)])
      await pass(20)
      assert.equal(await kv.birth(), birth)
      await kv.delete(kv.birthKey)
      const begun = await Promise.all([kv.birth(), kv.birth(), kv.birth()])
      assert.deepEqual(await kv.getMany([kv.birthKey]), [String(begun[0])])
      assert.deepEqual(new Set(begun).size, 1)
      assert.ok(begun[0] >= birth + 20)
    })

    it('tells how long a counter lasts, and counts 30 concurrent calls in one window', async () => {
      const tallies = await Promise.all(Array.from({ length: 30 }, () => kv.tally('tally', { ttlMs: 60_000 })))
      assert.deepEqual(
        tallies.map(({ sum }) => sum).sort((a, b) => a - b),
        Array.from({ length: 30 }, (_, i) => i + 1),
      )
      for (const { leftMs = 0 } of tallies) assert.ok(leftMs > 50_000 && leftMs <= 60_000, String(leftMs))
      assert.deepEqual(await kv.tally('no-end', { by: 5 }), { sum: 5, leftMs: undefined })
    })

    it('refuses to increment a value that is not an integer', async () => {
      await kv.set('word', 'abc')
      await assert.rejects(kv.increment('word'), { code: 'KV_NOT_A_NUMBER' })
      assert.equal(await kv.get('word'), 'abc')
    })

    it('refuses to increment by what is not an integer, and writes nothing', async () => {
      await kv.set('sum', '1')
      for (const by of [Infinity, -Infinity, NaN, 0.5, 2 ** 53]) {
        for (const key of ['sum', 'no-sum']) await assert.rejects(kv.increment(key, { by }), { code: 'KV_NOT_A_NUMBER', status: 500 })
      }
      assert.deepEqual(await kv.getMany(['sum', 'no-sum']), ['1', null])
      assert.equal(await kv.increment('sum', { by: 2 ** 52 }), 2 ** 52 + 1)
    })

    it('refuses a TTL that is not a finite number above 0, and writes nothing', async () => {
      await kv.set('life', '1')
      for (const ttlMs of [Infinity, -Infinity, NaN, 0, -0.5, -1, Number.MAX_SAFE_INTEGER]) {
        const refused = { code: 'KV_TTL_INVALID', status: 500 }
        for (const options of [{ ttlMs }, { ttlMs, ifAbsent: true }, { ttlMs, ifValue: '1' }]) {
          for (const key of ['life', 'no-life']) await assert.rejects(kv.set(key, '2', options), refused)
        }
        for (const key of ['life', 'no-life']) await assert.rejects(kv.increment(key, { ttlMs }), refused)
      }
      assert.deepEqual(await kv.getMany(['life', 'no-life']), ['1', null])
    })

    it('keeps a key with a TTL of a fraction of a ms, or of thousands of years', async () => {
      const forever = 2 ** 52
      for (const options of [{ ttlMs: forever + 0.5 }, { ttlMs: forever, ifValue: '1' }])
        assert.equal(await kv.set('long', '1', options), true)
      assert.equal(await kv.set('longer', '1', { ttlMs: forever, ifAbsent: true }), true)
      assert.equal(await kv.increment('longest', { ttlMs: forever }), 1)
      assert.deepEqual(await kv.getMany(['long', 'longer', 'longest']), ['1', '1', '1'])
      assert.equal(await kv.set('shortest', '1', { ttlMs: 0.5 }), true)
      assert.equal(await kv.increment('shortest-sum', { ttlMs: 40.5 }), 1)
      await pass(50)
      assert.deepEqual(await kv.getMany(['shortest', 'shortest-sum']), [null, null])
    })

    it('reports a ping in whole milliseconds, and rejects an aborted one', async () => {
      assert.ok(Number.isInteger(await kv.ping()))
      await assert.rejects(kv.ping(AbortSignal.abort()), { name: 'AbortError' })
    })
  })
}
