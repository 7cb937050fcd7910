import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { link, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseEnvFile } from './env-file.js'
import { updateEnvFile } from './update-env-file.js'

async function withFile(test: (file: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-env-'))
  try {
    await test(join(folder, '.env'), folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Increments a value many times at once. Returns how often it succeeded. */
async function countedAtOnce(file: string): Promise<number> {
  const changes = Array.from({ length: 200 }, () => updateEnvFile(file, ({ N }) => ({ N: String(Number(N) + 1) })))
  const settled = await Promise.allSettled(changes)
  for (const one of settled) if (one.status === 'rejected') assert.equal(one.reason.code, 'ENV_FILE_BUSY')
  const done = settled.filter(({ status }) => status === 'fulfilled').length
  assert.ok(done > 0)
  return done
}

async function valueIn(file: string): Promise<number> {
  return Number(parseEnvFile(await readFile(file, 'utf8'), file).N)
}

describe('changing a .env file', () => {
  it('loses no change that did not find the file busy, among many at once that find the lock of a killed process', () =>
    withFile(async (file, folder) => {
      await writeFile(file, 'N=0\n')
      await writeFile(`${file}.new`, 'half')
      await utimes(`${file}.new`, 1, 1)
      assert.deepEqual(await countedAtOnce(file), await valueIn(file))
      assert.deepEqual(await readdir(folder), ['.env'])
    }))

  it('does not mistake a stopped process for a killed one', () =>
    withFile(async (file) => {
      await writeFile(file, 'N=1\n')
      const stopped = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
      const ended = once(stopped, 'exit')
      const [lock, own] = [`${file}.new`, `${file}.new.${stopped.pid}.x`]
      await writeFile(own, 'N=2\n')
      await link(own, lock)
      await utimes(lock, 1, 1)
      const change = () => updateEnvFile(file, () => ({ N: '3' }))
      await assert.rejects(change(), { code: 'ENV_FILE_BUSY', message: /\.env\.new exists.*if no such process is running, delete it/ })
      assert.equal(await readFile(lock, 'utf8'), 'N=2\n')
      stopped.kill('SIGKILL')
      await ended
      await change()
      assert.equal(await readFile(file, 'utf8'), "N='3'\n")
      await assert.rejects(stat(own), { code: 'ENOENT' })
    }))

  it('frees the lock of a killed process of another container whose pid a process of this one has', () =>
    withFile(async (file, folder) => {
      await writeFile(file, 'N=1\n')
      const own = `${file}.new.${process.ppid}.1.${crypto.randomUUID()}`
      await writeFile(own, 'N=2\n')
      await link(own, `${file}.new`)
      await assert.rejects(
        updateEnvFile(file, () => ({ N: '3' })),
        { code: 'ENV_FILE_BUSY' },
      )
      await utimes(own, 1, 1)
      await updateEnvFile(file, () => ({ N: '3' }))
      assert.equal(await readFile(file, 'utf8'), "N='3'\n")
      assert.deepEqual(await readdir(folder), ['.env'])
    }))

  it('neither writes nor removes the lock when another process has taken it meanwhile', () =>
    withFile(async (file, folder) => {
      const lock = `${file}.new`
      await writeFile(file, 'N=1\n')
      const late = updateEnvFile(file, () => {
        // What another process does that takes this one for killed.
        for (const name of readdirSync(folder)) if (name.startsWith('.env.new')) unlinkSync(join(folder, name))
        writeFileSync(lock, 'of another process')
        return { N: '2' }
      })
      await assert.rejects(late, { code: 'ENV_FILE_BUSY' })
      assert.equal(await readFile(lock, 'utf8'), 'of another process')
      assert.equal(await readFile(file, 'utf8'), 'N=1\n')
    }))

  it('removes the temporary files that killed processes left behind, and no other', () =>
    withFile(async (file, folder) => {
      const killed = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
      await once(killed, 'exit')
      const [old, recent, living] = [killed.pid, killed.pid, process.ppid].map((pid) => `.env.new.${pid}.${crypto.randomUUID()}`) as [
        string,
        string,
        string,
      ]
      for (const name of [old, recent, living, '.env.new.backup']) {
        await writeFile(join(folder, name), 'KEY=secret\n')
        if (name !== recent) await utimes(join(folder, name), 1, 1)
      }
      await updateEnvFile(file, () => ({ N: '1' }))
      assert.deepEqual((await readdir(folder)).toSorted(), ['.env', recent, living, '.env.new.backup'].toSorted())
    }))

  it('loses no change that did not find the file busy, among many at once', () =>
    withFile(async (file, folder) => {
      await writeFile(file, 'N=0\n')
      assert.deepEqual(await countedAtOnce(file), await valueIn(file))
      assert.deepEqual(await readdir(folder), ['.env'])
    }))
})
