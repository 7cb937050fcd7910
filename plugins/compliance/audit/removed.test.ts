import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fakeClock } from 'zin/testing'
import { purgeAudit } from '../retention/purge-audit.js'
import { fileAnchor } from './anchor/file.js'
import { anchorLine } from './anchor/line.js'
import { readAnchor } from './anchor/read.js'
import { registerChain, withHead, withoutStart } from './chain.js'
import { hashOf, idOf } from './entry.js'
import { type Checkpoint, checkpointOf } from './places/checkpoint.js'
import { append, ringOf, type SealedLog, sealedLog } from './testing/sealed-log.js'
import { verifyAudit } from './verify.js'

const dayMs = 86_400_000
/** Entries have the times 1, 2, … ms. */
const day = (number: number): number => number * dayMs

/** Removes entries from the start of a chain as retention does, as someone can who has the current key and writes the tables. */
async function remove(log: SealedLog, chain: number, purged: number): Promise<void> {
  const row = await log.row(chain)
  const [last] = await log.store.entries({ after: idOf(chain, purged) - 1, to: idOf(chain, purged), limit: 1 })
  await log.store.purge(withoutStart(log.keys.current, row, { purged, purgedHash: last?.hash ?? '' }), idOf(chain, 1), idOf(chain, purged))
}

/** Removes the first chains with all their entries. */
async function removeChains(log: SealedLog, last: number): Promise<void> {
  for (let chain = 1; chain <= last; chain++) {
    const row = await log.row(chain)
    for (let number = 1; number <= row.entries; number++) log.store.removeEntry(idOf(chain, number))
    const start = { purged: chain, purgedHash: row.opening }
    await log.store.dropChain(chain, withoutStart(log.keys.current, await log.row(registerChain), start))
  }
}

const purge = (log: SealedLog, olderThan: number) =>
  purgeAudit({ store: log.store, keys: log.keys, place: log.place, before: olderThan, alive: new Set(), steps: 100 })

/** Verifies at a time after the entries were written, with a retention in days. */
const verifyAt = (
  log: SealedLog,
  now: number,
  days: number,
  witnesses: readonly NonNullable<Parameters<typeof verifyAudit>[0]['witnesses']>[number][] = [log.place],
) => verifyAudit({ store: log.store, keys: log.keys, witnesses, retention: { now, days } })

describe('entries removed with the current key as retention removes them', () => {
  const removed = /^entr.* missing, but kv does not know that retention deleted anything there$/

  it('are missed, because kv is told of a deletion before it happens', async () => {
    for (const count of [1, 4, 10]) {
      const log = sealedLog(ringOf('k'))
      await log.chain(10)
      await log.chain(2)
      await remove(log, 1, count)
      const { fault, faultCount } = await verifyAt(log, day(1), 90)
      assert.match(fault?.problem ?? '', removed)
      assert.deepEqual([fault?.id, faultCount], [idOf(1, 1), 1])
      // Neither sealing again nor retention hides it, also not after the row got another seal.
      log.store.setChain(withHead(log.keys.current, await log.row(1), {}))
      await log.sealAgain()
      await purge(log, 1)
      assert.match((await verifyAt(log, day(1), 90)).fault?.problem ?? '', removed)
    }
  })

  it('are missed with their whole chains, because kv still has their seals', async () => {
    const log = sealedLog(ringOf('k'))
    for (let chain = 1; chain <= 3; chain++) await log.chain(4)
    await removeChains(log, 2)
    assert.equal((await verifyAt(log, day(1), 90, [])).intact, true)
    const { faultCount, faults } = await verifyAt(log, day(1), 90)
    assert.deepEqual(
      [faultCount, faults[0]?.problem],
      [2, 'chain 1 is missing with all its entries, but kv does not know that retention deleted it'],
    )
    await purge(log, 5)
    assert.equal((await verifyAt(log, day(1), 90)).intact, false)
  })

  it('are not missed when retention removed them, part by part, and then the chains', async () => {
    const log = sealedLog(ringOf('k'))
    const process = log.start()
    await process.write(2)
    await process.write(900)
    await log.chain(3)
    for (const [olderThan, entries] of [
      [3, 6],
      [500, 498],
      [Date.now() * 2, 401],
    ] as const) {
      assert.deepEqual(await purge(log, olderThan), { entries, kept: 0, more: false })
      assert.equal((await log.verify()).fault, undefined)
    }
    assert.deepEqual(log.store.allChains(), [])
  })

  it('are not missed once kv, set back to before the deletion, knows only of entries older than the retention', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(10)
    const setBack = log.kv.copy()
    await purge(log, 5)
    setBack()
    assert.match((await verifyAt(log, day(1), 90)).fault?.problem ?? '', removed)
    assert.equal((await verifyAt(log, day(91), 90)).intact, true)
    await purge(log, 7)
    assert.equal((await verifyAt(log, day(1), 90)).intact, true)
  })

  it('are not missed in chains of which kv has a seal from before it knew their starts', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(10)
    await remove(log, 1, 4)
    const { purged: _, ...older } = checkpointOf(await log.row(1))
    await log.place.put(older)
    assert.equal((await log.verify()).intact, true)
    await log.sealAgain()
    await remove(log, 1, 6)
    assert.match((await log.verify()).fault?.problem ?? '', /^entries 1000000005 to 1000000006 are missing/)
  })
})

describe('retention of the audit log', () => {
  it('keeps entries that were changed, so that no one can have them deleted by dating them back', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(6)
    log.store.alterEntry(idOf(1, 3), { at: 0 })
    log.store.alterEntry(idOf(1, 1), { at: 0 })
    assert.deepEqual(await purge(log, 1), { entries: 0, kept: 1, more: false })
    assert.deepEqual(await purge(log, 3), { entries: 0, kept: 1, more: false })
    assert.match((await log.verify()).fault?.problem ?? '', /^entry 1000000001 was altered/)
  })

  it('keeps a chain that was rewritten with the current key, dated back', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(6)
    const row = await log.row(1)
    let lastHash = '0'.repeat(64)
    for (const entry of await log.store.entries({ after: 0, to: idOf(2, 0), limit: 10 })) {
      lastHash = hashOf(log.keys.current.key, lastHash, entry.id, { ...entry, at: 0 })
      log.store.alterEntry(entry.id, { at: 0, hash: lastHash })
    }
    log.store.setChain(withHead(log.keys.current, row, { lastHash }))
    const { kept } = await purge(log, 6)
    assert.equal(kept, 1)
    assert.equal(log.store.allChains().length, 1)
    assert.match((await log.verify()).fault?.problem ?? '', /is not the one that kv knows: the chain was rewritten$/)
  })

  it('keeps a chain that was set back or does not match its seal, until all that kv knows of it is old', async () => {
    for (const isSealed of [true, false]) {
      const log = sealedLog(ringOf('k'))
      const process = log.start()
      await process.write(3)
      const setBack = log.store.copy()
      await process.write(5)
      if (isSealed) setBack()
      else log.store.setChain({ ...(await log.row(1)), entries: 4 })
      assert.deepEqual(await purge(log, 4), { entries: 0, kept: 1, more: false })
      assert.equal((await log.verify()).intact, false)
      assert.equal((await purge(log, 6)).kept, 0)
      await purge(log, Date.now() * 2)
      assert.deepEqual([log.store.allChains(), (await log.verify()).fault], [[], undefined])
    }
  })

  it('deletes nothing while kv is unavailable', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(3)
    log.kv.down = true
    await assert.rejects(purge(log, 9), /kv is unreachable/)
    assert.equal((await log.verify([])).entries, 3)
  })
})

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
      assert.equal((await verifyAt(log, day(89), 90)).intact, true)
      const { fault, faultCount } = await verifyAt(log, day(89), 90, await witnesses())
      assert.match(fault?.problem ?? '', tooEarly(entries))
      assert.equal(faultCount, 1)
      assert.equal((await verifyAt(log, day(91), 90, await witnesses())).fault, undefined)
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
    const { faults } = await verifyAt(log, day(89), 90, await witnesses())
    assert.deepEqual(
      faults.map(({ id }) => id),
      [idOf(1, 1), idOf(2, 1)],
    )
    assert.match(faults[0]?.problem ?? '', tooEarly('entries 1000000001 to 1000000004 are missing'))
    assert.equal((await verifyAt(log, day(91), 90, await witnesses())).fault, undefined)
  })

  it('judges entries that were written with a shorter retention by that one', async () => {
    const { log, start, witnesses } = anchored()
    await start().write(5)
    await purge(log, 3)
    assert.equal((await verifyAt(log, day(91), 365, await witnesses())).fault, undefined)
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
