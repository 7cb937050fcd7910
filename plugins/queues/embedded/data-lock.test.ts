import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { markProcess } from 'zin'
import { type DataLock, lockData } from './data-lock.js'

/** A holder that has ended: no machine has a process with this pid. */
const dead = JSON.stringify({ pid: 2 ** 30, started: '1', boot: '', host: hostname() })

const codeOf = (lock: DataLock): string | undefined => lock.lost?.code

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

  describe('of a process in another container with the same machine name', () => {
    /** @param secondsAgo How long ago the holder updated it. */
    const held = async (secondsAgo: number): Promise<string> => {
      const dir = await newDir()
      const mark = { ...(await markProcess(dir)), namespace: 'pid:[1]', pid: 2 ** 30 }
      await writeFile(join(dir, 'lock'), JSON.stringify(mark))
      const at = Date.now() / 1000 - secondsAgo
      await utimes(join(dir, 'lock'), at, at)
      return dir
    }

    it('is held while it is updated, and is left alone', async () => {
      const dir = await held(1)
      const file = join(dir, 'lock')
      const before = await readFile(file, 'utf8')
      const updates = setInterval(() => void utimes(file, new Date(), new Date()), 500)
      try {
        await assert.rejects(lockData(dir), {
          code: 'ZIN_DATA_IN_USE',
          message: /process \d+ in another container or on its host \(pid:\[1\]\)/,
        })
      } finally {
        clearInterval(updates)
      }
      assert.equal(await readFile(file, 'utf8'), before)
      assert.deepEqual(await readdir(dir), ['lock'])
    })

    it('goes to one of many that start after its container was killed, once it is stale', async () => {
      const dir = await held(18)
      const before = performance.now()
      const claims = await Promise.allSettled(Array.from({ length: 5 }, () => lockData(dir)))
      assert.ok(performance.now() - before >= 1000, 'not before it is stale')
      const locks = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []))
      assert.equal(locks.length, 1)
      await locks[0]?.release()
      assert.deepEqual(await readdir(dir), [])
    })
  })

  for (const [what, change, loss] of [
    ['was taken over', (file: string) => writeFile(file, machine), /is now that of process 1 on machine elsewhere/],
    ['was deleted', (file: string) => rm(file), /is gone/],
  ] as const) {
    it(`is lost to its holder when it ${what}, and is not removed by it`, async () => {
      const dir = await newDir()
      const events = new EventEmitter()
      const lock = await lockData(dir, { onLost: (error) => events.emit('lost', error) })
      assert.equal(codeOf(lock), undefined)
      // The timer of a lock keeps no process alive.
      const alive = setInterval(() => undefined, 1000)
      const lost = once(events, 'lost').finally(() => clearInterval(alive))
      await change(join(dir, 'lock'))
      const left = await readdir(dir)
      assert.match(String(await lost), loss)
      await lock.confirm()
      assert.equal(codeOf(lock), 'QUEUE_DATA_TAKEN')
      await lock.release()
      assert.deepEqual(await readdir(dir), left)
    })
  }

  it('is read before it is used, after its holder could not update it for some time', async (t) => {
    const dir = await newDir()
    const lock = await lockData(dir)
    await writeFile(join(dir, 'lock'), machine)
    await lock.confirm()
    assert.equal(codeOf(lock), undefined, 'it was updated lately')
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 15_000 })
    await lock.confirm()
    assert.equal(codeOf(lock), 'QUEUE_DATA_TAKEN')
    await lock.release()
    assert.equal(await readFile(join(dir, 'lock'), 'utf8'), machine)
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
