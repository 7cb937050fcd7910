import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
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

  it('is not held in a copy of the folder, and is held along a symbolic link and after a move', async () => {
    const dir = await newDir()
    const [data, copy, link, moved] = ['data', 'copy', 'link', 'moved'].map((name) => join(dir, name)) as [string, string, string, string]
    const lock = await lockData(data)
    await writeFile(join(data, 'lock.killed'), dead)
    await cp(data, copy, { recursive: true, preserveTimestamps: true })
    await (await lockData(copy)).release()
    await symlink(data, link, 'junction')
    await assert.rejects(lockData(link), { code: 'ZIN_DATA_IN_USE' })
    await rename(data, moved)
    await assert.rejects(lockData(moved), { code: 'ZIN_DATA_IN_USE' })
    await rename(moved, data)
    await lock.release()
    await (await lockData(data)).release()
  })

  const machine = JSON.stringify({ pid: 1, started: '1', boot: '', host: 'elsewhere' })
  for (const [what, secondsAgo, isHeld] of [
    ['is held by a process of another machine that has just updated it', 1, true],
    ['is not held by a process of another machine that no longer updates it', 21, false],
    ['is not held by a process of another machine whose clock was ahead, and that no longer updates it', -3600, false],
  ] as const) {
    it(what, async () => {
      const dir = await newDir()
      await writeFile(join(dir, 'lock'), machine)
      const at = Date.now() / 1000 - secondsAgo
      await utimes(join(dir, 'lock'), at, at)
      if (isHeld) await assert.rejects(lockData(dir), /process 1 on machine elsewhere/)
      else await (await lockData(dir)).release()
    })
  }

  it('is held by a process of another machine whose clock is ahead while it updates it', async () => {
    const dir = await newDir()
    const file = join(dir, 'lock')
    await writeFile(file, machine)
    const touch = (at: number) => utimes(file, at, at)
    await touch(Date.now() / 1000 + 3600)
    const refused = assert.rejects(lockData(dir), { code: 'ZIN_DATA_IN_USE' })
    const updates = setInterval(() => void touch(Date.now() / 1000 + 3600), 1000)
    await refused
    clearInterval(updates)
  })

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
