import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type FakeClock, fakeClock } from 'zin/testing'
import { fileLedger } from './file-ledger.js'
import type { Ledger } from './ledger.js'

async function withLedgers(shared: boolean, test: (open: () => Ledger, folder: string, clock: FakeClock) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-ledger-'))
  const clock = fakeClock()
  try {
    await test(() => fileLedger(join(folder, 'ledger'), clock, shared), join(folder, 'ledger'), clock)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe('a ledger in files', () => {
  it('knows what one before it took, until it ends', () =>
    withLedgers(false, async (open, _folder, clock) => {
      const first = open()
      assert.equal(await first.begin(), true)
      assert.equal(await first.claim('a', clock.now() + 1_000), true)
      const second = open()
      assert.equal(await second.begin(), false)
      assert.deepEqual([await second.has('a'), await second.has('b')], [true, false])
      assert.equal(await second.claim('a', clock.now() + 1_000), false)
      clock.advance(1_001)
      assert.equal(await second.has('a'), false)
    }))

  it('gives a nonce to one of many at once', () =>
    withLedgers(false, async (open, _folder, clock) => {
      const ledger = open()
      await ledger.begin()
      const claims = await Promise.all(Array.from({ length: 20 }, async () => ledger.claim('a', clock.now() + 1_000)))
      assert.equal(claims.filter(Boolean).length, 1)
    }))

  it('that is shared knows at once what another one took', () =>
    withLedgers(true, async (open, _folder, clock) => {
      const [one, two] = [open(), open()]
      await one.begin()
      await two.begin()
      assert.equal(await one.claim('a', clock.now() + 1_000), true)
      assert.equal(await two.has('a'), true)
      assert.equal(await two.claim('a', clock.now() + 1_000), false)
    }))

  it('removes the files of what has ended, and no others', () =>
    withLedgers(false, async (open, folder, clock) => {
      const ledger = open()
      await ledger.begin()
      await ledger.claim('a', clock.now() + 1_000)
      clock.advance(60 * 60_000)
      await ledger.claim('b', clock.now() + 1_000)
      await ledger.sweep()
      assert.equal((await readdir(folder)).length, 1)
      assert.equal(await ledger.has('b'), true)
    }))

  it('fails when nothing can be written, so that the request is not accepted', () =>
    withLedgers(false, async (open, folder, clock) => {
      const ledger = open()
      await ledger.begin()
      await rm(folder, { recursive: true })
      await assert.rejects(async () => ledger.claim('a', clock.now() + 1_000))
      await assert.rejects(async () => ledger.claim('b', clock.now() + 1_000))
    }))
})
