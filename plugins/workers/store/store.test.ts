import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Miniflare } from 'miniflare'
import { database, databaseService } from 'zin/plugins/database'
import { type Kv, kv, kvService } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { overriding } from '../testing/helpers.js'
import { stored } from '../testing/stored-worker.js'
import { dbStore } from './db.js'
import { type EdgeSqlBinding, type EdgeSqlStatement, edgeSqlStore } from './edge-sql.js'
import { kvStore } from './kv.js'
import { memoryStore } from './memory.js'
import { storeContract } from './store.contract.js'

it('a writer that was frozen between its read and its write does not overwrite a newer value in a key-value store', async (t) => {
  const host = await createTestHost({ plugins: [database(), kv()] })
  t.after(() => host.stop())
  const service = host.service(kvService)
  const worker = stored('frozen')
  const key = 'my_app:workers:frozen'
  const [mine, newer] = [
    { ...worker, generation: 2, updatedAt: 1 },
    { ...worker, generation: 2, updatedAt: 2 },
  ]
  const frozen = overriding<Kv>(service, {
    async set(written, value, options) {
      if (written === key) await service.set(key, JSON.stringify(newer))
      return service.set(written, value, options)
    },
  })
  await kvStore(service, 'my_app').insert(worker)
  assert.equal(await kvStore(frozen, 'my_app').replace(mine), false)
  assert.deepEqual(await kvStore(service, 'my_app').get('frozen'), newer)
})

it('a list of a key-value store is complete although another list ends while it is read', async (t) => {
  const host = await createTestHost({ plugins: [database(), kv()] })
  t.after(() => host.stop())
  const service = host.service(kvService)
  const other = kvStore(service, 'my_app')
  const [first, second] = [stored('first'), stored('second')]
  await other.insert(first)
  await other.insert(second)
  let release = (): void => undefined
  let hold: Promise<void> | undefined
  let read = (): void => undefined
  const slow = overriding<Kv>(service, {
    async getMany(keys) {
      const held = hold
      const values = await service.getMany(keys)
      read()
      await held
      return values
    },
  })
  const store = kvStore(slow, 'my_app')
  await store.all()
  hold = new Promise((resolve) => (release = resolve))
  const reading = new Promise<void>((resolve) => (read = resolve))
  const listing = store.all()
  await reading
  hold = undefined
  await other.remove(first)
  assert.deepEqual(await store.all(), [second])
  release()
  assert.deepEqual(await listing, [first, second])
})

it('an insert that fails leaves no id in the index of a key-value store, unless its write may have been applied', async (t) => {
  const host = await createTestHost({ plugins: [database(), kv()] })
  t.after(() => host.stop())
  const service = host.service(kvService)
  const indexed = async () => JSON.parse((await service.get('my_app:workers')) ?? '[]') as unknown
  const isWorker = (key: string): boolean => key.startsWith('my_app:workers:')
  const gone = new Error('gone')

  const unread = overriding<Kv>(service, { get: async (key) => (isWorker(key) ? Promise.reject(gone) : service.get(key)) })
  await assert.rejects(kvStore(unread, 'my_app').insert(stored('unread')), gone)
  assert.deepEqual(await indexed(), [])
  const contended = overriding<Kv>(service, { set: async (key, ...rest) => !isWorker(key) && service.set(key, ...rest) })
  await assert.rejects(kvStore(contended, 'my_app').insert(stored('contended')), { code: 'KV_CONTENDED' })
  assert.deepEqual(await indexed(), [])

  const worker = stored('applied')
  const unanswered = overriding<Kv>(service, {
    async set(key, ...rest) {
      const done = await service.set(key, ...rest)
      return isWorker(key) ? Promise.reject(gone) : done
    },
  })
  await assert.rejects(kvStore(unanswered, 'my_app').insert(worker), gone)
  assert.deepEqual(await kvStore(service, 'my_app').all(), [worker])
})

storeContract('memory', async () => ({ store: memoryStore(), close: async () => undefined }))

storeContract('kvstore on the embedded store', async () => {
  const host = await createTestHost({ plugins: [database(), kv()] })
  const service = host.service(kvService)
  const open = () => kvStore(service, 'my_app')
  // Fewer, because each insert is three writes to disk.
  return { store: open(), second: open(), many: 200, close: async () => void (await host.stop()) }
})

storeContract('db on SQLite', async () => {
  const host = await createTestHost({ plugins: [database()] })
  const open = () => dbStore(host.service(databaseService), { connection: 'default', table: 'zin_workers', migrated: false })
  return { store: open(), second: open(), close: async () => void (await host.stop()) }
})

/** Runs one statement of D1 per request. */
const d1Script = `export default {
  async fetch(request, { DB }) {
    const { sql, values, method } = await request.json()
    return Response.json(await DB.prepare(sql).bind(...values)[method]())
  }
}`

/**
 * D1 behind requests. The binding that Miniflare offers to Node.js blocks the process in \`prepare\` and \`bind\`, and fails when the wake-up
 * of one call arrives during the next one.
 */
function d1Of(miniflare: Miniflare): EdgeSqlBinding {
  const statement = (sql: string, values: readonly unknown[]): EdgeSqlStatement => {
    const run = async <Result>(method: 'all' | 'run' | 'first'): Promise<Result> => {
      const response = await miniflare.dispatchFetch('http://d1', { method: 'POST', body: JSON.stringify({ sql, values, method }) })
      return (await response.json()) as Result
    }
    return { bind: (...bound) => statement(sql, bound), all: () => run('all'), run: () => run('run'), first: () => run('first') }
  }
  return { prepare: (sql) => statement(sql, []) }
}

storeContract('edge-sql on D1', async () => {
  const miniflare = new Miniflare({
    modules: true,
    script: d1Script,
    compatibilityDate: '2025-01-01',
    d1Databases: { DB: 'workers' },
  })
  const binding = d1Of(miniflare)
  const open = () => edgeSqlStore(binding, 'zin_workers')
  return { store: open(), second: open(), many: 200, close: () => miniflare.dispose() }
})
