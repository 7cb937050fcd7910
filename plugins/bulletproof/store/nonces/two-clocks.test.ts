import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Clock } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv, kvService } from 'zin/plugins/kv'
import { createTestHost, fakeClock, type TestHost } from 'zin/testing'
import { bulletproof } from '../../index.js'
import type { Pending } from '../../pending.js'
import { dbNonces } from './db.js'
import { dbLedger } from './db-ledger.js'
import { fileLedger } from './file-ledger.js'
import { kvNonces } from './kv.js'

/** How far the clock of one process is ahead of the other, in ms. */
const ahead = 400
const spanMs = 15 * 60_000

interface Claimer {
  begin(): Promise<unknown>
  claim(until: number): Pending<boolean>
  sweep(): Promise<void>
}

const backends: Readonly<Record<string, (host: TestHost, folder: string, clock: Clock) => Claimer>> = {
  kv: (host, _folder, clock) => {
    const nonces = kvNonces(() => host.service(kvService), clock, { begin: async () => true, marginMs: 0 })
    return { begin: () => nonces.open(), claim: (until) => nonces.claim('a', until), sweep: () => nonces.sweep() }
  },
  tables: (host, _folder, clock) => {
    const nonces = dbNonces(() => host.service(databaseService), clock)
    return { begin: () => nonces.open(), claim: (until) => nonces.claim('a', until), sweep: () => nonces.sweep() }
  },
  'a ledger in tables': (host, _folder, clock) => claimerOf(dbLedger(() => host.service(databaseService), clock)),
  'a ledger in files': (_host, folder, clock) => claimerOf(fileLedger(folder, clock, true)),
}

function claimerOf(ledger: ReturnType<typeof fileLedger>): Claimer {
  return { begin: () => ledger.begin(), claim: (until) => ledger.claim('a', until - 1_000, until), sweep: () => ledger.sweep() }
}

describe('two processes whose clocks differ', () => {
  for (const [name, open] of Object.entries(backends)) {
    it(`accept a nonce once, with ${name}`, async () => {
      const clock = fakeClock()
      const early: Clock = { now: () => clock.now() + ahead, monotonic: () => clock.monotonic() }
      const folder = await mkdtemp(join(tmpdir(), 'zin-clocks-'))
      const host = await createTestHost({ clock, env: { APP_KEY: 'x'.repeat(32) }, plugins: [database(), kv(), jwt(), bulletproof()] })
      try {
        const one = open(host, join(folder, 'ledger'), early)
        await one.begin()
        // The files of a ledger are deleted by span.
        const until = (Math.floor(clock.now() / spanMs) + 1) * spanMs - 1
        clock.advance(until - clock.now() - 60_000)
        assert.equal(await one.claim(until), true)
        for (const left of [300, 100, 0]) {
          clock.advance(until - left - clock.now())
          await one.sweep()
          const other = open(host, join(folder, 'ledger'), clock)
          await other.begin()
          assert.equal(await other.claim(until), false, `${left} ms before its end`)
        }
      } finally {
        await host.stop()
        await rm(folder, { recursive: true, force: true })
      }
    })
  }
})
