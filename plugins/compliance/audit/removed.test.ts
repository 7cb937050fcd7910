import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withHead } from './chain.js'
import { hashOf, idOf } from './entry.js'
import { checkpointOf } from './places/checkpoint.js'
import { append, purge, remove, removeChains, ringOf, sealedLog } from './testing/sealed-log.js'

const day = 86_400_000

describe('entries removed with the current key as retention removes them', () => {
  const removed = /^entr.* missing, but kv does not know that retention deleted anything there$/

  it('are missed, because kv is told of a deletion before it happens', async () => {
    for (const count of [1, 4, 10]) {
      const log = sealedLog(ringOf('k'))
      await log.chain(10)
      await log.chain(2)
      await remove(log, 1, count)
      const { fault, faultCount } = await log.verifyOn(1, 90)
      assert.match(fault?.problem ?? '', removed)
      assert.deepEqual([fault?.id, faultCount], [idOf(1, 1), 1])
      // Neither sealing again nor retention hides it, also not after the row got another seal.
      log.store.setChain(withHead(log.keys.current, await log.row(1), {}))
      await log.sealAgain()
      await purge(log, 1)
      assert.match((await log.verifyOn(1, 90)).fault?.problem ?? '', removed)
    }
  })

  it('are missed with their whole chains, because kv still has their seals', async () => {
    const log = sealedLog(ringOf('k'))
    for (let chain = 1; chain <= 3; chain++) await log.chain(4)
    await removeChains(log, 2)
    assert.equal((await log.verifyOn(1, 90, [])).intact, true)
    const { faultCount, faults } = await log.verifyOn(1, 90)
    assert.deepEqual(
      [faultCount, faults[0]?.problem],
      [2, 'chain 1 is missing with all its entries, but kv does not know that retention deleted it'],
    )
    await purge(log, 5)
    assert.equal((await log.verifyOn(1, 90)).intact, false)
  })

  it('are still missed after retention ran, also when all entries of an old chain were removed', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(4)
    // The chain was opened long ago, and written until lately.
    await log.place.put({ ...checkpointOf(await log.row(1)), lastAt: Date.now() * 2 })
    await remove(log, 1, 4)
    await purge(log, Date.now() * 2)
    assert.equal(log.store.allChains().length, 1)
    assert.match((await log.verify()).fault?.problem ?? '', removed)
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
    assert.match((await log.verifyOn(1, 90)).fault?.problem ?? '', removed)
    assert.equal((await log.verifyOn(91, 90)).intact, true)
    assert.deepEqual(await purge(log, 7), { entries: 0, kept: 1, more: false })
    await purge(log, day)
    assert.equal((await log.verifyOn(1, 90)).intact, true)
  })

  it('are still missed after an entry that is dated back was added, for retention to delete it', async () => {
    const log = sealedLog(ringOf('k'))
    await log.start().write(10)
    await remove(log, 1, 10)
    await append(log, await log.row(1), log.keys.current, 1, 0)
    for (const seal of [false, true]) {
      if (seal) await log.sealAgain()
      assert.deepEqual(await purge(log, 5), { entries: 0, kept: 1, more: false })
      assert.match((await log.verifyOn(1, 90)).fault?.problem ?? '', removed)
    }
  })

  it('are not missed in the chain of a process that still runs after kv has lost everything', async () => {
    const log = sealedLog(ringOf('k'))
    const process = log.start()
    await process.write(10)
    await purge(log, 5)
    log.kv.clear()
    await process.write(2)
    assert.equal((await log.verify()).fault, undefined)
    await log.sealAgain([process.node])
    assert.deepEqual(await log.place.starts([1]), new Map([[1, 4]]))
    await remove(log, 1, 6)
    assert.match((await log.verify()).fault?.problem ?? '', /^entries 1000000005 to 1000000006 are missing/)
  })

  it('are not missed in chains of which kv has a seal from before it knew their starts', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(10)
    await remove(log, 1, 4)
    await log.kv.delete('compliance:audit:start:1')
    await log.place.put(checkpointOf(await log.row(1)))
    assert.equal((await log.verify()).intact, true)
    await log.sealAgain()
    assert.deepEqual(await log.place.starts([1, 2]), new Map([[1, 4]]))
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
