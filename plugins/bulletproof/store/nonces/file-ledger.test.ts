import assert from 'node:assert/strict'
import { appendFile, type FileHandle, mkdir, mkdtemp, open as openFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type FakeClock, fakeClock } from 'zin/testing'
import { fileLedger } from './file-ledger.js'
import type { Ledger } from './ledger.js'

type Take = (ledger: Ledger, key: string, aheadMs?: number) => Promise<boolean>

/** `take` claims a nonce for a second, for a request dated the given time ahead. */
async function withLedgers(
  shared: boolean,
  test: (open: () => Ledger, folder: string, clock: FakeClock, take: Take) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-ledger-'))
  const clock = fakeClock()
  try {
    const take: Take = async (ledger, key, aheadMs = 500) => ledger.claim(key, clock.now() + aheadMs, clock.now() + 1_000)
    await test(() => fileLedger(join(folder, 'ledger'), clock, shared), join(folder, 'ledger'), clock, take)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function prototypeOfFiles(folder: string): Promise<FileHandle> {
  const file = await openFile(join(folder, '..', 'probe'), 'w')
  await file.close()
  return Object.getPrototypeOf(file)
}

describe('a ledger in files', () => {
  it('reads the nonces that an earlier one claimed, until they expire', () =>
    withLedgers(false, async (open, _folder, clock, take) => {
      const first = open()
      assert.equal(await first.begin(), true)
      assert.equal(await take(first, 'a'), true)
      const second = open()
      assert.equal(await second.begin(), false)
      assert.deepEqual([await second.has('a'), await second.has('b')], [true, false])
      assert.equal(await take(second, 'a'), false)
      clock.advance(1_001)
      assert.equal(await second.has('a'), false)
    }))

  it('gives a nonce to one of many concurrent claims', () =>
    withLedgers(false, async (open, _folder, _clock, take) => {
      const ledger = open()
      await ledger.begin()
      const claims = await Promise.all(Array.from({ length: 20 }, async () => take(ledger, 'a')))
      assert.equal(claims.filter(Boolean).length, 1)
    }))

  it('that is shared sees the claims of another one immediately', () =>
    withLedgers(true, async (open, _folder, _clock, take) => {
      const [one, two] = [open(), open()]
      await one.begin()
      await two.begin()
      assert.equal(await take(one, 'a'), true)
      assert.equal(await two.has('a'), true)
      assert.equal(await take(two, 'a'), false)
    }))

  it('that is shared sees them for all concurrent calls', () =>
    withLedgers(true, async (open, _folder, _clock, take) => {
      const [one, two] = [open(), open()]
      await one.begin()
      await two.begin()
      assert.equal(await take(one, 'a'), true)
      assert.deepEqual(await Promise.all(['a', 'a', 'b', 'a'].map(async (key) => two.has(key))), [true, true, false, true])
    }))

  it('that is shared tolerates files that another one removes', () =>
    withLedgers(true, async (open, _folder, clock, take) => {
      const [one, two] = [open(), open()]
      await one.begin()
      await two.begin()
      await take(one, 'a')
      clock.advance(60 * 60_000)
      const asked = Promise.all(Array.from({ length: 50 }, async () => two.has('a')))
      await one.sweep()
      assert.ok((await asked).every((taken) => !taken))
    }))

  it('loses only the line that a power failure left incomplete', () =>
    withLedgers(false, async (open, folder, clock, take) => {
      const first = open()
      await first.begin()
      await take(first, 'a')
      const [name = ''] = await readdir(folder)
      await appendFile(join(folder, name), `broken ${String(clock.now()).slice(0, 5)}`)
      const second = open()
      await second.begin()
      await take(second, 'b')
      const third = open()
      await third.begin()
      assert.deepEqual(await Promise.all(['a', 'b', 'broken'].map(async (key) => third.has(key))), [true, true, false])
    }))

  it('syncs claims more than a second ahead to disk before it accepts them, and concurrent claims share a sync', (t) =>
    withLedgers(false, async (open, folder, _clock, take) => {
      const syncs: string[] = []
      const files = await prototypeOfFiles(folder)
      for (const method of ['datasync', 'sync'] as const) {
        const original = files[method]
        t.mock.method(files, method, async function (this: FileHandle) {
          await original.call(this)
          syncs.push(method)
        })
      }
      const ledger = open()
      await ledger.begin()
      syncs.length = 0
      await Promise.all(['a', 'b'].map((key) => take(ledger, key, 1_000)))
      assert.deepEqual(syncs, [])
      assert.equal(await take(ledger, 'c', 1_001), true)
      assert.deepEqual(syncs, ['datasync', 'sync'])
      const claims = Array.from({ length: 200 }, (_, index) => take(ledger, `many-${index}`, 60_000))
      assert.ok((await Promise.all(claims)).every(Boolean))
      assert.deepEqual(syncs, ['datasync', 'sync', 'datasync'])
      t.mock.method(files, 'datasync', () => Promise.reject(new Error('the disk is gone')))
      await assert.rejects(take(ledger, 'd', 60_000), /the disk is gone/)
      assert.equal(ledger.has('d'), true)
      assert.equal(await take(ledger, 'e', 500), true)
    }))

  it('removes only the files of expired nonces', () =>
    withLedgers(false, async (open, folder, clock, take) => {
      const ledger = open()
      await ledger.begin()
      await take(ledger, 'a')
      clock.advance(60 * 60_000)
      await take(ledger, 'b')
      await ledger.sweep()
      assert.equal((await readdir(folder)).length, 1)
      assert.equal(await ledger.has('b'), true)
    }))

  it('leaves other files and folders in its folder alone', () =>
    withLedgers(true, async (open, folder, clock, take) => {
      const ledger = open()
      await ledger.begin()
      await appendFile(join(folder, 'notes.txt'), 'a note')
      await mkdir(join(folder, 'lost+found'))
      assert.equal(await take(ledger, 'a'), true)
      clock.advance(60 * 60_000)
      await ledger.sweep()
      assert.deepEqual((await readdir(folder)).sort(), ['lost+found', 'notes.txt'])
    }))

  it('rejects when the file cannot be written, so that the request is not accepted', () =>
    withLedgers(false, async (open, folder, _clock, take) => {
      const ledger = open()
      await ledger.begin()
      await rm(folder, { recursive: true })
      await assert.rejects(async () => take(ledger, 'a'))
      await assert.rejects(async () => take(ledger, 'b'))
    }))
})
