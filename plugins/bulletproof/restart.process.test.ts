import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inFolder, type ProcessGiven, sendCopies, signedNow, startServer } from './testing/processes.js'

describe('S7: after the process was killed and restarted', () => {
  for (const [name, plugins] of [
    ['nonces in memory', []],
    ['nonces in a kv table', ['database', 'kv']],
  ] as const satisfies readonly (readonly [string, ProcessGiven['plugins']])[]) {
    it(`a request that was accepted is refused, dated now or 59 s ahead, and a new one is accepted, with ${name}`, () =>
      inFolder(async (rootDir) => {
        const first = await startServer({ rootDir, plugins })
        const captured = [await signedNow(), await signedNow(59_000)]
        for (const headers of captured) assert.deepEqual(await sendCopies([first.url], headers, 50), { 200: 1, 401: 49 })
        await first.kill()
        const second = await startServer({ rootDir, plugins })
        try {
          for (const headers of captured) assert.deepEqual(await sendCopies([second.url], headers, 10), { 401: 10 })
          assert.deepEqual(await sendCopies([second.url], await signedNow(), 1), { 200: 1 })
        } finally {
          await second.kill()
        }
      }))
  }
})
