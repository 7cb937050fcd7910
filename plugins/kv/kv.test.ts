import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import { createTestHost, describePlugin, fakeClock } from 'zin/testing'
import { kv, kvService } from './index.js'
import { kvContract } from './kv.contract.js'
import { databaseStore } from './store/db.js'

kvContract('SQLite', async () => ({ host: { plugins: [database(), kv()] }, pass: 'clock' }))

describe('kv', () => {
  it('stops the boot without a store, and names the fix', async () => {
    await assert.rejects(createTestHost({ plugins: [kv()] }), { message: /kv.*Set REDIS_URL, or add database\(\)/s })
  })

  it('stops the boot when Redis cannot be reached, and reveals neither user nor password', async () => {
    const env = { REDIS_URL: 'redis://someone:hunter2@127.0.0.1:1/0', REDIS_CONNECT_TIMEOUT_MS: '300' }
    await assert.rejects(createTestHost({ plugins: [kv()], env }), (error) => {
      assert.match(String(error), /Redis at 127\.0\.0\.1:1 could not be reached within 300 ms.*REDIS_URL/)
      assert.doesNotMatch(String(error), /hunter2|someone/)
      return true
    })
  })

  it('keeps values across a restart of the app', async () => {
    const { mkdtemp, rm } = await import('node:fs/promises')
    const { join } = await import('node:path')
    const { tmpdir } = await import('node:os')
    const rootDir = await mkdtemp(join(tmpdir(), 'zin-kv-'))
    const options = { plugins: [database(), kv()], dataDir: rootDir }
    const first = await createTestHost(options)
    await first.service(kvService).set('a', '1')
    await first.stop()
    const second = await createTestHost(options)
    assert.equal(await second.service(kvService).get('a'), '1')
    await second.stop()
    await rm(rootDir, { recursive: true, force: true })
  })

  it('finds a key by its digest, whatever its length', async () => {
    const host = await createTestHost({ plugins: [database(), kv()] })
    await host.service(kvService).set('secret-name', 'v')
    const rows = await host.service(databaseService).tables().selectFrom('zin_kv').select('id').execute()
    assert.match(String(rows[0]?.id), /^[0-9a-f]{64}$/)
    await host.stop()
  })

  it('deletes expired keys in several short statements, and no other keys', async () => {
    const deletes: string[] = []
    const watching = definePlugin({
      name: 'watching',
      version: '1.0.0',
      uses: { database: databaseService },
      setup({ services }) {
        services.database.observe(({ sql }) => {
          if (sql.startsWith('delete from "zin_kv"')) deletes.push(sql)
        })
      },
    })
    const clock = fakeClock()
    const host = await createTestHost({ plugins: [database(), watching(), kv()], clock })
    const store = host.service(kvService)
    await store.set('lasting', 'x')
    await store.set('live', 'x', { ttlMs: 1 })
    const tables = host.service(databaseService).tables()
    const expired = Array.from({ length: 1_200 }, (_, i) => ({ id: `expired-${i}`, value: 'x', expires_at: clock.now() - (i % 2) }))
    await tables.insertInto('zin_kv').values(expired).execute()
    await databaseStore({ database: host.service(databaseService), clock }).sweep()
    assert.deepEqual(await store.getMany(['lasting', 'live']), ['x', 'x'])
    assert.equal((await tables.selectFrom('zin_kv').select('id').execute()).length, 3)
    assert.equal(deletes.length, 3)
    await host.stop()
  })
})

describePlugin(() => [database()], kv, { readme: new URL('./README.md', import.meta.url) })
