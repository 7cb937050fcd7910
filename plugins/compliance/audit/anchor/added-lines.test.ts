import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fakeClock } from 'zin/testing'
import { withHead } from '../chain.js'
import { idOf } from '../entry.js'
import { type Checkpoint, checkpointOf } from '../places/checkpoint.js'
import { append, purge, remove, removeChains, ringOf, sealedLog } from '../testing/sealed-log.js'
import { fileAnchor } from './file.js'
import { anchorLine } from './line.js'
import { readAnchor } from './read.js'

describe('an anchor file, to someone who also writes the tables and kv with the current key', () => {
  let folder: string
  let names = 0
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-removed-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  /** A log of several processes, all of whose seals are in one file. */
  const anchored = () => {
    const log = sealedLog(ringOf('k'))
    const path = join(folder, `anchor-${++names}.jsonl`)
    const save = fileAnchor(path, fakeClock())
    let writing = Promise.resolve()
    const start = () =>
      log.start((_chain, checkpoint) => {
        writing = writing.then(() => save(checkpoint))
      })
    const witnesses = async () => {
      await writing
      return [log.place, await readAnchor(path)]
    }
    /** Brings kv up to date with the tables, and adds lines to the file that say the same. */
    const hide = async (lines = 1): Promise<void> => {
      log.kv.clear()
      await log.sealAgain()
      await writing
      for (const row of log.store.allChains()) {
        const fresh = { after: 0, since: 0, days: 1 }
        for (let line = 0; line < lines; line++) await save({ ...checkpointOf(row), lastAt: 0, fresh })
      }
    }
    return { log, path, start, witnesses, hide }
  }
  const tooEarly = (entries: string): RegExp =>
    new RegExp(`^${entries}, but cannot have been deleted by retention: the anchor file \\S+ knows that they were written after 1970-01-01`)

  it('shows that entries were removed before their retention ended, wherever the cut is', async () => {
    for (const [count, entries] of [
      [1, 'entry 1000000001 is missing'],
      [4, 'entries 1000000001 to 1000000004 are missing'],
      [7, 'entries 1000000001 to 1000000005 are missing'],
    ] as const) {
      const { hide, log, start, witnesses } = anchored()
      const [one, other] = [start(), start()]
      await one.write(5)
      await other.write(3)
      await one.write(5)
      await remove(log, 1, count)
      await hide()
      assert.equal((await log.verifyOn(89, 90)).intact, true)
      const { fault, faultCount } = await log.verifyOn(89, 90, await witnesses())
      assert.match(fault?.problem ?? '', tooEarly(entries))
      assert.equal(faultCount, 1)
      assert.equal((await log.verifyOn(91, 90, await witnesses())).fault, undefined)
    }
  })

  it('shows that whole chains were removed before their retention ended', async () => {
    const { hide, log, start, witnesses } = anchored()
    for (let chain = 1; chain <= 3; chain++) {
      const process = start()
      await process.write(4)
      await process.stop()
    }
    await removeChains(log, 2)
    await hide()
    const { faults } = await log.verifyOn(89, 90, await witnesses())
    assert.deepEqual(
      faults.map(({ id }) => id),
      [idOf(1, 1), idOf(2, 1)],
    )
    assert.match(faults[0]?.problem ?? '', tooEarly('entries 1000000001 to 1000000004 are missing'))
    assert.equal((await log.verifyOn(91, 90, await witnesses())).fault, undefined)
  })

  it('judges entries that were written with a shorter retention by that one', async () => {
    const { log, start, witnesses } = anchored()
    await start().write(5)
    await purge(log, 3)
    assert.equal((await log.verifyOn(91, 365, await witnesses())).fault, undefined)
  })

  it('shows that the log was rewritten, whatever the number of lines that were added to it', async () => {
    for (const added of [0, 40, 400, 4_000]) {
      const { hide, log, path, start, witnesses } = anchored()
      const process = start()
      for (let batch = 0; batch < 12; batch++) await process.write(3)
      await process.stop()
      assert.equal((await log.verify(await witnesses())).fault, undefined)
      const row = await log.row(1)
      const [, , third] = await log.store.entries({ after: 0, to: idOf(2, 0), limit: 3 })
      for (let number = 4; number <= row.entries; number++) log.store.removeEntry(idOf(1, number))
      await append(log, { ...row, counter: 90, entries: 3, lastHash: third?.hash ?? '' }, log.keys.current, row.entries - 3)
      log.store.setChain(withHead(log.keys.current, await log.row(1), { closed: true }))
      await hide()
      const line = `${anchorLine(checkpointOf(await log.row(1)), 0)}\n`
      await writeFile(path, line.repeat(added), { flag: 'a' })
      const { fault, faultCount } = await log.verify(await witnesses())
      assert.match(fault?.problem ?? '', /^entry 1000000006 is not the one that the anchor file \S+ knows: the chain was rewritten$/)
      assert.equal(faultCount, 1)
    }
  })

  it('shows any line that contradicts the log, in whichever chain and place, among lines of any number of chains', async () => {
    const { log, path, start, witnesses } = anchored()
    for (let chain = 1; chain <= 40; chain++) {
      const process = start()
      await process.write(2)
      await process.stop()
    }
    const honest = await witnesses()
    const rows = await log.store.chains(0, 100)
    const lines = rows.flatMap((row): Checkpoint[] => Array(30).fill(checkpointOf(row)))
    for (const [at, other] of [
      [0, { entries: 1 }],
      [599, { opening: 'a'.repeat(64) }],
      [1_199, { entries: 3 }],
    ] as const) {
      const changed = lines.map((line, index) => (index === at ? { ...line, ...other } : line))
      await writeFile(path, changed.map((line) => anchorLine(line, 0)).join('\n'))
      const { fault, faultCount } = await log.verify(await witnesses())
      assert.deepEqual([fault !== undefined, faultCount], [true, 1], String(at))
    }
    assert.equal(honest.length, 2)
  })

  it('cannot have the next line made unreadable by text without a line break', async () => {
    const log = sealedLog(ringOf('k'))
    const path = join(folder, 'cut.jsonl')
    const save = fileAnchor(path, fakeClock())
    await log.chain(2)
    const checkpoint = checkpointOf(await log.row(1))
    await save(checkpoint)
    await writeFile(path, '{"at":"', { flag: 'a' })
    await save(checkpoint)
    assert.deepEqual((await readAnchor(path)).counts, { lines: 2, unreadable: 1 })
  })
})
