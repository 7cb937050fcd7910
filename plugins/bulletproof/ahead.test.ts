import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { database, databaseService } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { fakeClock, type TestHost } from 'zin/testing'
import { type AheadBackend, assertNeverTwice, bootAt, signedAhead } from './testing/replay.js'

const backends: readonly (AheadBackend & { readonly name: string })[] = [
  { name: 'memory', plugins: () => [] },
  { name: 'memory next to a database', plugins: () => [database()] },
  { name: 'kv on SQLite', plugins: () => [database(), kv()] },
  { name: 'tables on SQLite', plugins: () => [database()], options: { nonceStore: 'db' } },
]

async function inFolder(test: (rootDir: string) => Promise<void>): Promise<void> {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-ahead-'))
  try {
    await test(rootDir)
  } finally {
    await rm(rootDir, { recursive: true, force: true })
  }
}

describe('S7: a request dated ahead of time', () => {
  for (const { name, ...backend } of backends) {
    it(`is accepted once, even after a restart of the app, with ${name}`, () =>
      inFolder(async (rootDir) => {
        const clock = fakeClock()
        let host = await bootAt(rootDir, clock, backend)
        clock.advance(1_000)
        try {
          await assertNeverTwice(clock, host, async () => {
            await host.stop()
            host = await bootAt(rootDir, clock, backend)
            return host
          })
        } finally {
          await host.stop()
        }
      }))
  }

  it('is accepted once, even when the table of the kv is emptied', () =>
    inFolder(async (rootDir) => {
      const clock = fakeClock()
      const host = await bootAt(rootDir, clock, { plugins: () => [database(), kv()] })
      clock.advance(1_000)
      try {
        await assertNeverTwice(clock, host, async () => {
          await host.service(databaseService).tables().deleteFrom('zin_kv').execute()
          return host
        })
      } finally {
        await host.stop()
      }
    }))

  it('leaves no record once it has expired, and requests that are not ahead write none', () =>
    inFolder(async (rootDir) => {
      const clock = fakeClock()
      const files = (): Promise<string[]> => readdir(join(rootDir, '.zin', 'data', 'nonces-ahead'))
      const send = async (to: TestHost, ahead: number): Promise<number> => (await signedAhead(to, clock, ahead)).send(to)
      const first = await bootAt(rootDir, clock, { plugins: () => [] })
      clock.advance(1_000)
      assert.equal(await send(first, 0), 200)
      assert.deepEqual(await files(), [])
      assert.equal(await send(first, 59_000), 200)
      assert.equal((await files()).length, 1)
      await first.stop()
    }))
})
