import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { complianceService } from 'zin/plugins/compliance'
import { unpackOld } from './fixtures/old-data.js'
import { holdsAll, keepsAudit, oldPlace, startApp, worksOn } from './old-app.js'

describe('the audit log of revision 7e7bb45', () => {
  it('is verified after its migration, and goes on', { timeout: 60_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'zin-old-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const place = oldPlace(join(folder, 'data'))
    await unpackOld('7e7bb45', place.dataDir)
    const host = await startApp(place)
    t.after(() => host.stop())
    await keepsAudit(host)
  })
})

describe('the data of revision 360da2d', () => {
  it('is migrated by the first start, with jobs in every state, and works', { timeout: 120_000 }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'zin-old-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const place = oldPlace(join(folder, 'data'))
    await unpackOld('360da2d', place.dataDir)
    const first = await startApp(place, [])
    try {
      await holdsAll(first)
    } finally {
      await first.stop()
    }
    const second = await startApp(place)
    try {
      await worksOn(second)
      const { entries, fault } = await second.service(complianceService).verify()
      assert.deepEqual([fault, entries > 0], [undefined, true])
    } finally {
      await second.stop()
    }
  })
})
