import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { defineCommand } from '../host/command.js'
import { readCommandCache, writeCommandCache } from './command-cache.js'

async function configIn(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-cache-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'zin.config.ts')
  await writeFile(file, 'export default {}\n')
  return file
}

const at = (file: string) => ({ file, rootDir: dirname(file) })

const prune = defineCommand({
  name: 'queue prune',
  summary: 'Prune',
  needs: 'services',
  options: { hours: { type: 'int', summary: 'h', default: 1 } },
  run: () => 1,
})
const entries = [{ plugin: 'queues', command: prune }]

test('commands are cached without their functions and read back', async (t) => {
  const file = await configIn(t)
  assert.equal(await readCommandCache(at(file), '1.0.0'), undefined)
  await writeCommandCache(at(file), '1.0.0', entries)
  const { run: _run, ...shape } = prune
  assert.deepEqual(await readCommandCache(at(file), '1.0.0'), [{ plugin: 'queues', command: shape }])
  assert.deepEqual(await readdir(join(file, '..', '.zin', 'cache')), ['commands.json'])
})

test('another version of zin, or a changed configuration, makes the cache stale', async (t) => {
  const file = await configIn(t)
  await writeCommandCache(at(file), '1.0.0', entries)
  assert.equal(await readCommandCache(at(file), '1.0.1'), undefined)
  await utimes(file, 1, 1)
  assert.equal(await readCommandCache(at(file), '1.0.0'), undefined)
})

test('an unreadable cache counts as absent, and an unwritable one is not a failure', async (t) => {
  const file = await configIn(t)
  await writeCommandCache(at(file), '1.0.0', entries)
  const cache = join(file, '..', '.zin', 'cache', 'commands.json')
  const { key } = JSON.parse(await readFile(cache, 'utf8')) as { key: string }
  for (const text of ['{', 'null', JSON.stringify({ key, commands: {} }), JSON.stringify({ key, commands: [{ plugin: 'x' }, null] })]) {
    await writeFile(cache, text)
    assert.equal(await readCommandCache(at(file), '1.0.0'), undefined, text)
  }
  const blocked = await configIn(t)
  await writeFile(join(blocked, '..', '.zin'), 'a file')
  await chmod(join(blocked, '..', '.zin'), 0o400)
  await writeCommandCache(at(blocked), '1.0.0', entries)
})
