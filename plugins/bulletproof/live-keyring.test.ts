import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { memoryLogger } from 'zin/testing'
import { LiveKeyring } from './live-keyring.js'

describe('the keyring of a running app', () => {
  it('reports a refused rotation once, and applies it when it is allowed', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'zin-keyring-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, '.env')
    await writeFile(file, 'BULLETPROOF_SIGNING_SECRET=a-new-secret\n')
    const log = memoryLogger()
    let allowed = false
    const keyring = new LiveKeyring({
      settings: { BULLETPROOF_SIGNING_SECRET: 'short' },
      maxBackups: 5,
      minBackupBytes: 0,
      overridden: () => false,
      problemOf: () => undefined,
      rotate: (take) => (allowed ? take() : Promise.reject(new Error('the audit log is unavailable'))),
      log,
    })
    for (let round = 0; round < 3; round += 1) await keyring.look(file)
    assert.deepEqual(
      log.lines.map(({ level, msg }) => [level, (msg ?? '').endsWith('the audit log is unavailable')]),
      [['error', true]],
    )
    assert.equal(keyring.bytes, 'short'.length)
    allowed = true
    for (let round = 0; round < 2; round += 1) await keyring.look(file)
    assert.equal(keyring.bytes, 'a-new-secret'.length)
    assert.deepEqual(
      log.lines.map(({ level }) => level),
      ['error', 'info'],
    )
  })
})
