import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { database, databaseService } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { createTestHost, type TestHost } from 'zin/testing'
import { mysqlDatabase } from '../../scripts/testing/mysql-database.js'

describe('a database on a server', () => {
  const { env, name, create, drop } = mysqlDatabase('owner')
  before(create)
  after(drop)
  const boot = (APP_NAME: string, more: Readonly<Record<string, string>> = {}): Promise<TestHost> =>
    createTestHost({ plugins: [database(), kv()], env: { ...env, APP_NAME, ...more } })

  it('accepts all processes of one app, also when they start at the same time', async () => {
    const hosts = await Promise.all([boot('shop'), boot('shop'), boot('shop')])
    for (const host of hosts) await host.stop()
  })

  it('refuses an app with another name, and reports both names and the fix', async () => {
    for (const DB_MIGRATE of ['auto', 'manual']) {
      await assert.rejects(boot('blog', { DB_MIGRATE }), (error: Error) => {
        for (const part of [name, '"shop"', '"blog"', 'APP_NAME', 'DB_DATABASE', 'APP_RENAMED_FROM'])
          assert.ok(error.message.includes(part))
        return true
      })
    }
  })

  it('follows an app that was renamed, and refuses the old name afterwards', async () => {
    const renamed = await boot('boutique', { APP_RENAMED_FROM: 'shop' })
    const rows = await renamed.service(databaseService).tables().selectFrom('zin_app').selectAll().execute()
    assert.deepEqual(rows, [{ id: 1, name: 'boutique' }])
    await renamed.stop()
    await assert.rejects(boot('shop'), /belongs to the app "boutique"/)
    await (await boot('boutique', { APP_RENAMED_FROM: 'shop' })).stop()
  })
})
