import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock, memoryLogger } from 'zin/testing'
import { keysFor } from '../keys.js'
import { purgeAudit } from '../retention/purge-audit.js'
import { type Chain, newChain, registerChain, withHead } from './chain.js'
import { type AuditEntry, type AuditFacts, hashOf, idOf, noHash } from './entry.js'
import { memoryAudit } from './testing/memory-audit.js'
import { verifyAudit } from './verify.js'
import { AuditWriter } from './writer.js'

const settings = { APP_KEY: 'k'.repeat(32), APP_KEY_BK: '' }
const keys = keysFor('audit', settings)
const facts = (number: number): AuditFacts => ({
  at: number,
  action: 'desk.sort',
  target: `desk:${number}`,
  outcome: 'asked',
  actor: 'user:1',
  device: null,
  via: 'http',
  before: null,
  after: null,
  reason: null,
  address: null,
  requestId: null,
  ref: null,
})

/** A log whose chains have the given numbers of entries; times are the entry numbers. */
async function logWith(...lengths: readonly number[]) {
  const store = memoryAudit()
  for (const [index, length] of lengths.entries()) {
    const writer = new AuditWriter({
      store,
      keys,
      node: `node-${index}`,
      clock: fakeClock(),
      log: memoryLogger(),
      backlog: 10_000,
      onState: () => undefined,
    })
    for (let number = 1; number <= length; number++) writer.put(facts(number))
    await writer.flush()
    await writer.close()
  }
  return store
}

describe('the verification of an audit log', () => {
  it('reads 100,000 entries 1,000 at a time', async () => {
    const length = 100_000
    const entry = (number: number, previous: string): AuditEntry => {
      const [id, made] = [idOf(1, number), facts(number)]
      return { ...made, id, hash: hashOf(keys.current.key, previous, id, made) }
    }
    let lastHash = noHash
    for (let number = 1; number <= length; number++) lastHash = entry(number, lastHash).hash
    const chain = withHead(keys.current, newChain(keys.current, noHash, { chain: 1, node: 'n', openedAt: 0 }), {
      entries: length,
      lastHash,
    })
    const register = withHead(keys.current, newChain(keys.current, '', { chain: registerChain, node: 'register', openedAt: 0 }), {
      entries: 1,
      lastHash: chain.opening,
    })
    let largest = 0
    let previous = noHash
    // Generates each page on demand, so the log is never in memory.
    const report = await verifyAudit({
      keys,
      store: {
        chain: async (number) => (number === registerChain ? register : chain),
        chains: async (after) => (after < 1 ? [chain] : []),
        impossible: async () => undefined,
        hashes: async () => new Map(),
        entries: async ({ after, limit, to }) => {
          if (after < idOf(1, 0) && to <= idOf(1, 0)) return []
          const page: AuditEntry[] = []
          for (let number = Math.max(1, after - idOf(1, 0) + 1); number <= length && page.length < limit; number++) {
            const made = entry(number, previous)
            previous = made.hash
            page.push(made)
          }
          largest = Math.max(largest, page.length)
          return page
        },
      },
    })
    assert.deepEqual([report.fault, report.entries, largest], [undefined, length, 1000])
  })

  it('names a missing chain, one that was truncated together with its head, and entries without a chain', async () => {
    const store = await logWith(3, 3, 3)
    const [, second] = store.allChains() as [Chain, Chain, Chain]
    assert.equal((await verifyAudit({ store, keys })).fault, undefined)
    store.removeChain(2)
    assert.deepEqual((await verifyAudit({ store, keys })).fault?.id, idOf(2, 1))
    store.setChain(second)
    store.setChain({
      ...second,
      entries: 2,
      lastHash: (await store.entries({ after: idOf(2, 1), to: idOf(2, 2), limit: 1 }))[0]?.hash ?? '',
    })
    store.removeEntry(idOf(2, 3))
    assert.match((await verifyAudit({ store, keys })).fault?.problem ?? '', /^chain 2 does not match its seal/)
  })

  it('continues after the first fault: counts all faults, names the first 20, and continues from the stored values', async () => {
    const store = await logWith(60, 5, 5, 5)
    const alter = (id: number): void => store.alterEntry(id, { actor: 'user:other' })
    alter(idOf(1, 3))
    store.removeEntry(idOf(1, 10))
    store.removeEntry(idOf(1, 11))
    alter(idOf(1, 30))
    store.removeChain(2)
    alter(idOf(3, 2))
    store.removeEntry(idOf(4, 5))
    const { fault, faultCount, faults, intact } = await verifyAudit({ store, keys })
    assert.deepEqual([intact, faultCount, fault], [false, 6, faults[0]])
    assert.deepEqual(
      faults.map(({ problem }) => problem),
      [
        'entry 1000000003 was altered or moved',
        'entries 1000000010 to 1000000011 are missing; the next one is 1000000012',
        'entry 1000000030 was altered or moved',
        'chain 2 is missing with all its entries',
        'entry 3000000002 was altered or moved',
        'entry 4000000005 is missing: the tail of chain 4 was cut',
      ],
    )
    for (let number = 31; number <= 60; number++) alter(idOf(1, number))
    const more = await verifyAudit({ store, keys })
    assert.deepEqual([more.faultCount, more.faults.length, more.fault?.id], [36, 20, idOf(1, 3)])
  })

  it('names the missing key after APP_KEY changed, even while the log is written to, and verifies with APP_KEY_BK', async () => {
    const store = await logWith(3)
    const other = { APP_KEY: 'n'.repeat(32), APP_KEY_BK: '' }
    assert.match(
      (await verifyAudit({ store, keys: keysFor('audit', other) })).fault?.problem ?? '',
      /^the register of chains was sealed with the key [0-9a-f]{16}.*APP_KEY_BK/,
    )
    const log = memoryLogger()
    const write = async (ring: typeof keys): Promise<void> => {
      const writer = new AuditWriter({ store, keys: ring, node: 'n', clock: fakeClock(), log, backlog: 100, onState: () => undefined })
      await writer.write(facts(1))
      await writer.close()
    }
    await write(keys)
    assert.equal(log.lines.length, 0)
    await write(keysFor('audit', other))
    assert.match(log.lines[0]?.msg ?? '', /sealed with the key [0-9a-f]{16}, which is not configured.*APP_KEY_BK/)
    const both = keysFor('audit', { ...other, APP_KEY_BK: JSON.stringify([settings.APP_KEY]) })
    assert.equal((await verifyAudit({ store, keys: both })).intact, true)
  })

  it('succeeds after old entries and empty chains were purged, and still detects changes', async () => {
    const store = await logWith(1500, 1200)
    const purge = (before: number, steps: number) => purgeAudit({ store, keys, before, alive: new Set(), steps })
    // A step deletes at most 1,000.
    assert.deepEqual(await purge(1301, 1), { entries: 1000, kept: 0, more: true })
    assert.deepEqual(await purge(1301, 100), { entries: 1500, kept: 0, more: false })
    const report = await verifyAudit({ store, keys })
    assert.deepEqual([report.fault, report.entries, report.purged], [undefined, 200, 2500])
    store.removeEntry(idOf(1, 1301))
    assert.equal((await verifyAudit({ store, keys })).fault?.id, idOf(1, 1301))
  })

  it('counts lost outcomes, refuses callers meanwhile, and writes the count once it can', async () => {
    const store = memoryAudit()
    const states: boolean[] = []
    const writer = new AuditWriter({
      store,
      keys,
      node: 'n',
      clock: fakeClock(),
      log: memoryLogger(),
      backlog: 100,
      onState: ({ downSince }) => states.push(downSince !== undefined),
    })
    store.down = true
    await assert.rejects(writer.write(facts(1)), /the disk is full/)
    for (let number = 0; number < 130; number++) writer.put(facts(number))
    assert.deepEqual([writer.state.unkept, writer.totals.refused], [30, 1])
    store.down = false
    await writer.flush()
    const written = await store.entries({ after: 0, to: Number.MAX_SAFE_INTEGER, limit: 1000 })
    assert.match(written.find(({ action }) => action === 'audit.gap')?.reason ?? '', /^30 job outcomes/)
    assert.deepEqual([written.length, states], [101, [true, false]])
    await writer.close()
    assert.equal((await verifyAudit({ store, keys })).open, 0)
  })
})
