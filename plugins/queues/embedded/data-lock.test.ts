import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { lockData } from './data-lock.js'

/** A holder that has ended: no machine has a process with this pid. */
const dead = JSON.stringify({ pid: 2 ** 30, started: '1', boot: '', host: hostname() })

describe('the lock of the data directory', () => {
  const dirs: string[] = []
  const newDir = async (): Promise<string> => {
    const dir = await mkdtemp(join(tmpdir(), 'zin-lock-'))
    dirs.push(dir)
    return dir
  }
  after(() => Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true }))))

  for (const [what, prepare] of [
    ['a stale lock', (dir: string) => writeFile(join(dir, 'lock'), dead)],
    ['no lock', () => Promise.resolve()],
  ] as const) {
    it(`goes to exactly one of many that start at once on ${what}`, async () => {
      for (let round = 0; round < 10; round++) {
        const dir = await newDir()
        await prepare(dir)
        const claims = await Promise.allSettled(Array.from({ length: 10 }, () => lockData(dir)))
        const locks = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []))
        const refusals = claims.flatMap((claim) => (claim.status === 'rejected' ? [claim.reason as unknown] : []))
        assert.equal(locks.length, 1, `round ${round}`)
        for (const reason of refusals) assert.equal((reason as { code?: string }).code, 'ZIN_DATA_IN_USE')
        assert.deepEqual(await readdir(dir), ['lock'], 'no claim is left')
        await locks[0]?.release()
        assert.deepEqual(await readdir(dir), [])
      }
    })
  }

  it('removes the claim of a process that was killed during its start', async () => {
    const dir = await newDir()
    await writeFile(join(dir, 'lock.killed'), dead)
    const lock = await lockData(dir)
    assert.deepEqual(await readdir(dir), ['lock'])
    await lock.release()
  })

  it('waits for a claim that is still being written', async () => {
    const dir = await newDir()
    await writeFile(join(dir, 'lock.other'), '{"pid"')
    await assert.rejects(lockData(dir), { code: 'ZIN_DATA_IN_USE' })
    await rm(join(dir, 'lock.other'))
    await (await lockData(dir)).release()
  })
})
