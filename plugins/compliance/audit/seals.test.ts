import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import type { DerivedKey, KeyRing } from '../keys.js'
import { purgeAudit } from '../retention/purge-audit.js'
import { type Chain, newChain, registerChain, withHead, withoutStart } from './chain.js'
import { entryOf, idOf } from './entry.js'
import { append, factsOf, type SealedLog as Log, remove, removeChains, rewrite, ringOf, sealedLog } from './testing/sealed-log.js'

const problemsOf = async (log: Log, witnesses?: Parameters<Log['verify']>[0], keys?: KeyRing): Promise<readonly string[]> =>
  (await log.verify(witnesses, keys)).faults.map(({ problem }) => problem)

/** The chain as processes wrote it before seals formed a chain. The format is fixed: tables contain it. */
function olderFormat({ key }: DerivedKey, chain: Chain): Chain {
  const { closed, entries, lastHash, opening } = chain
  const fields = ['head', chain.chain, opening, entries, lastHash, closed]
  const seal = createHmac('sha256', key).update(JSON.stringify(fields)).digest('hex')
  return { ...chain, counter: 0, previousSeal: '', sealKeyId: chain.keyId, seal }
}

describe('the tail of the audit log', () => {
  it('cannot be cut by setting back both tables, because kv knows the last seal', async () => {
    const log = sealedLog(ringOf('k'))
    const process = log.start()
    await process.write(3)
    const setBack = log.store.copy()
    await process.write(2)
    assert.deepEqual((await log.verify()).fault, undefined)
    setBack()
    assert.deepEqual(await problemsOf(log), ['chain 1 was set back to its seal 2, over 3 entries: kv knows its seal 3, over 5 entries'])
    // What the README says: the tables alone do not show it.
    assert.equal((await log.verify([])).intact, true)
  })

  it('cannot be cut by setting back only the row of the chain', async () => {
    const log = sealedLog(ringOf('k'))
    const process = log.start()
    await process.write(3)
    const older = await log.row(1)
    await process.write(1)
    log.store.setChain(older)
    log.store.removeEntry(idOf(1, 4))
    assert.match((await log.verify()).fault?.problem ?? '', /^chain 1 was set back to its seal 2/)
  })

  it('cannot lose its last chains, or all of them', async () => {
    const log = sealedLog(ringOf('k'))
    const empty = log.store.copy()
    await log.chain(2)
    const setBack = log.store.copy()
    await log.chain(2)
    await log.chain(2)
    setBack()
    assert.deepEqual(await problemsOf(log), ['chains 2 to 3 were cut with all their entries: kv knows of it'])
    empty()
    assert.deepEqual(await problemsOf(log), ['the register of chains is missing, but kv knows 3 chains'])
  })

  it('cannot be hidden by new chains with the numbers of those that were cut', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(2)
    const setBack = log.store.copy()
    await log.chain(2)
    setBack()
    const process = log.start()
    await process.write(9)
    assert.match(process.publisher.state.error ?? '', /^kv already has a seal of another chain 2: the tables .* were set back/)
    await process.stop()
    assert.deepEqual(await problemsOf(log), ['chain 2 is not the chain of this number that kv knows: it was replaced'])
  })

  it('cannot be rewritten with the current key by someone who cannot write kv', async () => {
    const log = sealedLog(ringOf('k'))
    await log.start().write(3)
    await rewrite(log)
    assert.equal((await log.verify([])).intact, true)
    assert.deepEqual(await problemsOf(log), ['entry 1000000003 is not the one that kv knows: the chain was rewritten'])
  })

  it('can be extended by someone who has the current key: that is not detected', async () => {
    const log = sealedLog(ringOf('k'))
    await log.start().write(3)
    await append(log, await log.row(1), log.keys.current, 2)
    const report = await log.verify()
    assert.deepEqual([report.intact, report.entries, report.unconfirmed], [true, 5, 2])
  })

  it('is not reported while kv is behind, and the report counts the entries that nothing confirms', async () => {
    const log = sealedLog(ringOf('k'))
    const process = log.start()
    await process.write(3)
    log.kv.down = true
    await process.write(4)
    await assert.rejects(log.verify(), /kv is unreachable/)
    assert.match(log.log.lines.at(-1)?.msg ?? '', /cannot be written to kv; no entry is lost: kv is unreachable/)
    log.kv.down = false
    const behind = await log.verify()
    assert.deepEqual([behind.intact, behind.entries, behind.unconfirmed], [true, 7, 4])
    await process.publisher.flush()
    assert.equal((await log.verify()).unconfirmed, 0)
    assert.match(log.log.lines.at(-1)?.msg ?? '', /can be written to kv again/)
    log.kv.clear()
    const lost = await log.verify()
    assert.deepEqual([lost.intact, lost.unconfirmed], [true, 7])
  })
})

describe('the seals of a chain', () => {
  it('cover the seal before and a counter', async () => {
    const log = sealedLog(ringOf('k'))
    const process = log.start()
    await process.write(1)
    const first = await log.row(1)
    await process.write(1)
    const second = await log.row(1)
    assert.deepEqual([second.previousSeal, second.counter], [first.seal, first.counter + 1])
    for (const change of [{ previousSeal: first.previousSeal }, { counter: second.counter + 1 }]) {
      log.store.setChain({ ...second, ...change })
      assert.match((await log.verify([])).fault?.problem ?? '', /^chain 1 does not match its seal/)
    }
  })

  it('may become more while they are compared with kv', async () => {
    const log = sealedLog(ringOf('k'))
    const process = log.start()
    await process.write(2)
    const busy = {
      name: 'kv',
      chains: () => log.place.chains(),
      read: async (chains: readonly number[]) => {
        await process.write(2)
        return log.place.read(chains)
      },
    }
    assert.equal((await log.verify([busy])).fault, undefined)
  })
})

describe('seals in kv', () => {
  it('are stored again after kv has lost them, which is reported, and removed with their chains', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(2)
    await log.chain(2)
    assert.deepEqual(await log.sealAgain(), { sealed: 0, lost: 0, more: false })
    log.kv.clear()
    assert.deepEqual(await log.sealAgain(), { sealed: 0, lost: 2, more: false })
    assert.equal((await log.verify()).unconfirmed, 0)
    const purged = { store: log.store, keys: log.keys, place: log.place, before: Date.now() * 2, alive: new Set<string>(), steps: 100 }
    log.kv.down = true
    await assert.rejects(purgeAudit(purged), /kv is unreachable/)
    assert.deepEqual([log.store.allChains().length, (await log.verify([])).entries], [2, 4])
    log.kv.down = false
    await purgeAudit(purged)
    // What is left is the number of the last chain.
    assert.deepEqual([log.store.allChains().length, log.kv.size()], [0, 1])
    assert.equal((await log.verify()).intact, true)
  })

  it('are written once per batch at most, however many entries a batch has', async () => {
    const log = sealedLog(ringOf('k'))
    const process = log.start()
    await process.write(500)
    const before = process.publisher.state.saved
    await process.write(500)
    assert.equal(process.publisher.state.saved, before + 1)
  })
})

describe('a former key', () => {
  const [oldRing, newRing] = [ringOf('o'), ringOf('n', 'o')]
  const old = oldRing.current

  /** A log with a chain of the former key and one of the current key, after the former one was sealed again. */
  const rotated = async (): Promise<Log> => {
    const log = sealedLog(oldRing)
    await log.chain(3)
    log.keys = newRing
    await log.chain(2)
    return log
  }

  it('verifies what was written while it was current, before and after those chains are sealed with the current key', async () => {
    const log = await rotated()
    const before = await log.verify()
    assert.deepEqual([before.fault, before.earlierSeals], [undefined, 1])
    assert.deepEqual(await log.sealAgain(), { sealed: 1, lost: 0, more: false })
    const { counter, keyId, previousSeal, seal, sealKeyId } = await log.row(1)
    assert.deepEqual([keyId, sealKeyId, counter, previousSeal === seal], [old.id, newRing.current.id, 4, false])
    const after = await log.verify()
    assert.deepEqual([after.fault, after.earlierSeals, after.unconfirmed], [undefined, 0, 0])
    assert.deepEqual(await log.sealAgain(), { sealed: 0, lost: 0, more: false })
  })

  it('is not replaced before a chain is opened with the current key', async () => {
    const log = sealedLog(oldRing)
    await log.chain(1)
    log.keys = newRing
    assert.deepEqual(await log.sealAgain(), { sealed: 0, lost: 0, more: false })
    assert.equal((await log.row(1)).sealKeyId, old.id)
  })

  it('cannot open a chain after the key that replaced it, also not in the older format', async () => {
    for (const forge of [(chain: Chain) => chain, (chain: Chain) => olderFormat(old, chain)]) {
      const log = await rotated()
      const { opening } = await log.row(2)
      const chain = newChain(old, opening, { chain: 3, node: 'node-3', openedAt: 1 })
      const register = await log.row(registerChain)
      log.store.setChain(forge(chain))
      log.store.setChain(forge(withHead(old, register, { entries: 3, lastHash: chain.opening })))
      const found = await problemsOf(log, [])
      assert.ok(
        found.some((problem) => problem.startsWith(`chain 3 was opened with the earlier key ${old.id} after a later key had replaced it`)),
        found.join('\n'),
      )
    }
  })

  it('cannot seal the register, nor move the start of the log', async () => {
    const log = await rotated()
    const register = await log.row(registerChain)
    log.store.setChain(withHead(old, register, {}))
    assert.match((await problemsOf(log, [])).join(), /the register of chains .*earlier key/)
    log.store.setChain(withoutStart(old, register, { purged: 1, purgedHash: (await log.row(1)).opening }))
    log.store.removeChain(1)
    for (const number of [1, 2, 3]) log.store.removeEntry(idOf(1, number))
    assert.match((await problemsOf(log, [])).join(), /the register of chains has a start that was sealed with the earlier key/)
  })

  it('cannot continue its chains, nor cut their start or set them back, once they are sealed with the current key', async () => {
    const log = await rotated()
    const older = await log.row(1)
    await log.sealAgain()
    const sealed = await log.row(1)
    const restore = log.store.copy()

    log.store.setChain(older)
    assert.match((await log.verify()).fault?.problem ?? '', /^chain 1 was set back to its seal 3/)
    restore()
    await append(log, { ...older, closed: false, counter: 7 }, old, 2)
    assert.match((await log.verify()).fault?.problem ?? '', /^chain 1 was continued after its end: kv knows its seal 4/)
    restore()
    log.store.setChain(
      withoutStart(old, sealed, {
        purged: 1,
        purgedHash: (await log.store.entries({ after: 0, to: idOf(1, 1), limit: 1 }))[0]?.hash ?? '',
      }),
    )
    log.store.removeEntry(idOf(1, 1))
    assert.match((await problemsOf(log, [])).join(), /^chain 1 has a start that was sealed with the earlier key/)
    restore()
    assert.equal((await log.verify()).intact, true)
  })

  it('cannot continue a chain whose process was killed, once it is sealed with the current key', async () => {
    const log = sealedLog(oldRing)
    const killed = log.start()
    await killed.write(3)
    log.keys = newRing
    await log.chain(1)
    // It may still be running.
    assert.equal((await log.sealAgain([killed.node])).sealed, 0)
    await killed.write(1)
    assert.equal((await log.verify()).intact, true)
    assert.equal((await log.sealAgain()).sealed, 1)
    await append(log, { ...(await log.row(1)), counter: 9 }, old, 1)
    assert.match(
      (await log.verify()).fault?.problem ?? '',
      /^chain 1 was sealed with the earlier key [0-9a-f]{16} after the key [0-9a-f]{16} had replaced it/,
    )
  })

  it('is named when APP_KEY_BK does not list the newest key first', async () => {
    const log = sealedLog(ringOf('a'))
    await log.chain(1)
    log.keys = ringOf('b', 'a')
    await log.chain(1)
    log.keys = ringOf('c', 'b', 'a')
    await log.chain(1)
    assert.equal((await log.verify()).intact, true)
    assert.match(
      (await log.verify([], ringOf('c', 'a', 'b'))).fault?.problem ?? '',
      /^chain 2 .*check that APP_KEY_BK lists the newest key first$/,
    )
  })

  it('does not let a process that still has it seal or delete anything after it was replaced', async () => {
    const log = await rotated()
    log.keys = oldRing
    await assert.rejects(log.sealAgain(), { code: 'AUDIT_KEY_UNKNOWN' })
    const purge = purgeAudit({ store: log.store, keys: oldRing, before: Date.now() * 2, alive: new Set(), steps: 100 })
    await assert.rejects(purge, { code: 'AUDIT_KEY_UNKNOWN' })
  })
})

describe('chains in the older format', () => {
  const keys = ringOf('k')
  const older = async (): Promise<Log> => {
    const log = sealedLog(keys)
    await log.chain(3)
    for (const chain of [await log.row(1), await log.row(registerChain)]) log.store.setChain(olderFormat(keys.current, chain))
    log.kv.clear()
    return log
  }

  it('are verified, continued by new chains, and sealed in the new format once their process has ended', async () => {
    const log = await older()
    const before = await log.verify()
    assert.deepEqual([before.fault, before.earlierSeals, before.unconfirmed], [undefined, 1, 3])
    await log.chain(2)
    assert.equal((await log.verify()).intact, true)
    const row = await log.row(1)
    assert.deepEqual(await log.sealAgain(), { sealed: 1, lost: 0, more: false })
    const after = await log.verify()
    assert.deepEqual([after.fault, after.earlierSeals, after.unconfirmed], [undefined, 0, 0])
    log.store.setChain(row)
    assert.match((await log.verify()).fault?.problem ?? '', /^chain 1 was set back to its seal 0/)
  })

  it('are still found to be altered or cut', async () => {
    const log = await older()
    log.store.removeEntry(idOf(1, 3))
    assert.match((await log.verify()).fault?.problem ?? '', /^entry 1000000003 is missing: the tail of chain 1 was cut/)
  })

  it('cannot be made of new ones', async () => {
    const log = sealedLog(keys)
    await log.chain(3)
    const { previousSeal: _, ...chain } = await log.row(1)
    log.store.setChain({ ...chain, counter: 0, previousSeal: '' })
    assert.match((await log.verify([])).fault?.problem ?? '', /^chain 1 does not match its seal/)
    log.store.setChain({ ...olderFormat(keys.current, { ...chain, previousSeal: '' }), counter: 5 })
    assert.match((await log.verify([])).fault?.problem ?? '', /^chain 1 does not match its seal/)
  })
})

describe('the register of chains', () => {
  it('is sealed with its node and time, also if an earlier version sealed it, once a process starts', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(2)
    const register = await log.row(registerChain)
    for (const change of [{ node: 'another' }, { openedAt: 4711 }]) {
      log.store.setChain({ ...register, ...change })
      assert.deepEqual(await problemsOf(log), [
        'the register of chains does not match its seal: its length, its last hash or what else it covers was changed',
      ])
    }
    // The format is fixed: tables contain it.
    const { closed, counter, entries, keyId, lastHash, opening, previousSeal } = register
    const fields = ['head/v2', registerChain, counter, previousSeal, keyId, opening, entries, lastHash, closed]
    const seal = createHmac('sha256', log.keys.current.key).update(JSON.stringify(fields)).digest('hex')
    log.store.setChain({ ...register, seal })
    assert.deepEqual(await problemsOf(log), [])
    await log.chain(1)
    assert.deepEqual(await problemsOf(log), [])
    log.store.setChain({ ...(await log.row(registerChain)), node: 'another' })
    assert.equal((await problemsOf(log)).length, 1)
  })

  it('names chains and entries that were added where retention deleted them', async () => {
    const log = sealedLog(ringOf('k'))
    await log.chain(2)
    await log.chain(4)
    const [first] = [await log.row(1)]
    await removeChains(log, 1)
    await remove(log, 2, 3)
    assert.deepEqual(await problemsOf(log, []), [])
    log.store.setChain(first)
    assert.deepEqual(await problemsOf(log, []), ['chain 1 was added: the chains up to 1 were deleted'])
    log.store.removeChain(1)
    log.store.addEntry(entryOf(factsOf(4711), idOf(2, 2), 'a'.repeat(64)))
    assert.deepEqual(await problemsOf(log, []), ['entry 2000000002 was added where retention had deleted the start of chain 2'])
  })
})
