import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Chain } from './chain.js'
import type { AuditEntry } from './entry.js'
import { purge, ringOf, sealedLog } from './testing/sealed-log.js'

interface Copy {
  readonly entries: readonly AuditEntry[]
  readonly chains: readonly Chain[]
}

/** A log with a rotation of keys, deletions by retention and processes that were killed, and copies of its tables from every step. */
async function logWithHistory() {
  const log = sealedLog(ringOf('a'))
  const copies: Copy[] = []
  const steps: (() => unknown)[] = []
  const [first, killed] = [log.start(), log.start()]
  steps.push(() => first.write(6))
  steps.push(() => log.chain(4))
  steps.push(() => killed.write(3))
  steps.push(() => (log.keys = ringOf('b', 'a')))
  steps.push(() => log.chain(3))
  steps.push(() => first.write(3))
  steps.push(() => first.stop())
  steps.push(() => log.sealAgain())
  steps.push(() => purge(log, 2))
  steps.push(() => log.start().write(4))
  steps.push(() => purge(log, 4))
  for (const step of steps) {
    await step()
    const entries = await log.store.entries({ after: 0, to: Number.MAX_SAFE_INTEGER, limit: 1_000 })
    copies.push({ entries, chains: await log.store.chains(-1, 1_000) })
  }
  return { log, copies, now: copies.at(-1) as Copy }
}

describe('single rows of an older copy of the audit log', () => {
  it('are each detected, whether put back, removed or with one column of an older one', async () => {
    const { copies, log, now } = await logWithHistory()
    const restore = ({ chains, entries }: Copy): void => {
      for (const { chain } of [...log.store.allChains()]) log.store.removeChain(chain)
      for (const { entries: old } of copies) for (const { id } of old) log.store.removeEntry(id)
      for (const entry of entries) log.store.addEntry(entry)
      for (const chain of chains) log.store.setChain(chain)
    }
    const missed: string[] = []
    let tried = 0
    const attempt = async (what: string, change: () => void): Promise<void> => {
      change()
      tried += 1
      if ((await log.verify()).intact) missed.push(what)
      restore(now)
    }
    restore(now)
    assert.equal((await log.verify()).fault, undefined)
    for (const { id } of now.entries) await attempt(`entry ${id} removed`, () => log.store.removeEntry(id))
    for (const { chain } of now.chains) await attempt(`row ${chain} removed`, () => log.store.removeChain(chain))
    const seen = new Set([...now.entries, ...now.chains].map((one) => JSON.stringify(one)))
    const isNew = (one: object): boolean => !seen.has(JSON.stringify(one)) && seen.add(JSON.stringify(one)) !== undefined
    for (const copy of copies) {
      for (const entry of copy.entries.filter(isNew)) await attempt(`entry ${entry.id} put back`, () => log.store.addEntry(entry))
      for (const chain of copy.chains.filter(isNew)) await attempt(`row ${JSON.stringify(chain)} put back`, () => log.store.setChain(chain))
      for (const older of copy.chains) {
        for (const row of now.chains) {
          for (const column of Object.keys(older) as (keyof Chain)[]) {
            const changed = { ...row, [column]: older[column] }
            if (isNew(changed)) await attempt(`row ${row.chain} with ${column} ${older[column]}`, () => log.store.setChain(changed))
          }
        }
      }
    }
    assert.deepEqual(missed, [])
    assert.ok(tried > 300, `${tried} changes`)
  })

  it('are no fault where retention had deleted them with the start of their chain, and it deletes them again', async () => {
    const log = sealedLog(ringOf('a'))
    await log.start().write(5)
    const setBack = log.store.copy()
    assert.equal((await purge(log, 3)).entries, 2)
    setBack()
    assert.deepEqual([(await log.verify()).intact, (await purge(log, 3)).entries, (await log.verify()).intact], [true, 2, true])
  })
})
