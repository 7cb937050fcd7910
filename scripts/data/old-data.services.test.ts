import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { kvService } from 'zin/plugins/kv'
import { mysqlDatabase } from '../testing/mysql-database.js'
import { unpackOld } from './fixtures/old-data.js'
import { exportFrom, fileIn, importTo } from './moving.js'
import { holdsAll, keepsAudit, oldPlace, startApp, worksOn } from './old-app.js'

const REDIS_URL = process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set'

async function places(t: TestContext, name: string) {
  const folder = await mkdtemp(join(tmpdir(), 'zin-old-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const { create, drop, env } = mysqlDatabase(name)
  await create()
  t.after(drop)
  return {
    before: oldPlace(join(folder, 'data')),
    after: oldPlace(join(folder, 'other'), { ...env, REDIS_URL, APP_NAME: `${name}-${randomUUID()}` }),
  }
}

describe('the audit log of revision 7e7bb45, moved to servers', () => {
  it('is verified there, and goes on', { timeout: 60_000 }, async (t) => {
    const { before, after } = await places(t, 'audit')
    await unpackOld('7e7bb45', before.dataDir)
    await exportFrom(before, 'export.ndjson')
    await importTo(after, fileIn(before, 'export.ndjson'))
    const host = await startApp(after)
    t.after(() => host.stop())
    await keepsAudit(host)
  })
})

describe('the data of revision 360da2d, moved to servers', () => {
  it('is all there, with jobs in every state, and works', { timeout: 120_000 }, async (t) => {
    const { before, after } = await places(t, 'old')
    await unpackOld('360da2d', before.dataDir)
    const exportedAt = Date.now()
    await exportFrom(before, 'raw.ndjson')
    await assert.rejects(importTo(after, fileIn(before, 'raw.ndjson')), /has no key, because an earlier version wrote it/)
    await importTo(after, fileIn(before, 'raw.ndjson'), { without: 'kv/unnamed' })
    const without = await startApp(after, [])
    try {
      // Revocations are among what is missing: tokens from before are not accepted.
      assert.ok((await without.service(kvService).birth()) >= exportedAt)
      assert.equal(await without.service(kvService).get('plain'), null)
    } finally {
      await without.stop()
    }

    // What the new version reads gets its key.
    const upgraded = await startApp(before, [])
    try {
      await holdsAll(upgraded)
    } finally {
      await upgraded.stop()
    }
    await exportFrom(before, 'export.ndjson')
    await importTo(after, fileIn(before, 'export.ndjson'), { without: 'kv/unnamed', replace: true })
    for (const check of [holdsAll, worksOn]) {
      const host = await startApp(after, ...(check === holdsAll ? [[] as const] : []))
      try {
        await check(host)
      } finally {
        await host.stop()
      }
    }
  })
})
