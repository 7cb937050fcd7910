import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { database, databaseService } from 'zin/plugins/database'
import { createTestHost, describePlugin } from 'zin/testing'
import { kv, kvService } from './index.js'
import { kvContract } from './kv.contract.js'

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

  it('does not store the keys themselves in the table', async () => {
    const host = await createTestHost({ plugins: [database(), kv()] })
    await host.service(kvService).set('secret-name', 'v')
    const rows = await host.service(databaseService).tables().selectFrom('zin_kv').select('id').execute()
    assert.match(String(rows[0]?.id), /^[0-9a-f]{64}$/)
    await host.stop()
  })
})

describePlugin(() => [database()], kv, { readme: new URL('./README.md', import.meta.url) })
