import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { devEnvironment } from './commands/dev.js'
import { Restarter } from './restarter.js'
import { isSource, watchSources } from './watch.js'

async function watched(t: TestContext) {
  const rootDir = await mkdtemp(join(tmpdir(), 'zin-watch-'))
  for (const folder of ['src/deep', 'data', 'web/src', 'node_modules/x', '.zin/data', 'dist'])
    await mkdir(join(rootDir, folder), { recursive: true })
  let arrived: () => void = () => undefined
  const seen = new Set<string>()
  const watcher = await watchSources(
    rootDir,
    (files) => {
      for (const file of files) seen.add(relative(rootDir, file))
      arrived()
    },
    { debounceMs: 10, ignored: [join(rootDir, 'data'), join(rootDir, 'web')] },
  )
  t.after(async () => {
    watcher.close()
    await rm(rootDir, { recursive: true })
  })
  const change = async (name: string): Promise<void> => {
    while (!seen.has(name)) {
      await new Promise<void>((resolve) => {
        arrived = resolve
      })
    }
  }
  return { rootDir, change, seen }
}

test('a change of a source file is detected, including in folders that are created later', async (t) => {
  const { rootDir, change } = await watched(t)
  for (const name of ['zin.config.ts', 'src/deep/a.ts', '.env', 'src/new/folder/b.json']) {
    await mkdir(join(rootDir, name, '..'), { recursive: true })
    await writeFile(join(rootDir, name), 'x')
    await change(name)
  }
})

test('changes of data, packages, builds, ignored folders, tests and other files are ignored', async (t) => {
  const { rootDir, change, seen } = await watched(t)
  for (const name of [
    'data/run.json',
    'node_modules/x/index.js',
    '.zin/data/a.json',
    'dist/a.js',
    'web/src/a.ts',
    'src/a.test.ts',
    'notes.txt',
  ])
    await writeFile(join(rootDir, name), 'x')
  await writeFile(join(rootDir, 'last.ts'), 'x')
  await change('last.ts')
  assert.deepEqual([...seen], ['last.ts'])
})

test('sources are TypeScript, JavaScript, JSON and .env files, except tests', () => {
  const names = [
    'a.ts',
    'a.mts',
    '.env',
    '.env.local',
    '.env.new',
    '.env.new.1.x',
    'a.json',
    'a.md',
    'Makefile',
    'a.test.ts',
    'a.spec.mjs',
    'test.ts',
  ]
  assert.deepEqual(names.filter(isSource), ['a.ts', 'a.mts', '.env', '.env.local', 'a.json', 'test.ts'])
})

test('a restart stops the old process before it spawns the new one, and a burst of restarts is merged', async (t) => {
  const children: ChildProcess[] = []
  t.after(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  const alive = () => children.filter((child) => child.exitCode === null && child.signalCode === null).length
  const restarter = new Restarter(async () => {
    assert.equal(alive(), 0)
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); process.stdout.write("up")'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    children.push(child)
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    return child
  })
  await restarter.restart()
  await Promise.all([restarter.restart(), restarter.restart(), restarter.restart()])
  assert.equal(children.length, 2)
  assert.equal(children[0]?.signalCode, 'SIGTERM')
  await restarter.stop()
  await restarter.restart()
  assert.deepEqual([children.length, alive()], [2, 0])
})

test('a process that has not finished starting and ignores SIGTERM is killed', async () => {
  const children: ChildProcess[] = []
  const restarter = new Restarter(
    async () => {
      const script = "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000); process.stdout.write('up')"
      const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] })
      children.push(child)
      await once(child.stdout as NodeJS.ReadableStream, 'data')
      return child
    },
    { isStarting: () => true, graceMs: 0 },
  )
  await restarter.restart()
  await restarter.restart()
  await restarter.stop()
  assert.deepEqual(
    children.map((child) => child.signalCode),
    ['SIGKILL', 'SIGKILL'],
  )
})

test('a process that exited by itself is replaced by the next restart', async () => {
  const made: ChildProcess[] = []
  const restarter = new Restarter(async () => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
    made.push(child)
    await once(child, 'exit')
    return child
  })
  await restarter.restart()
  await restarter.restart()
  assert.equal(made.length, 2)
  await restarter.stop()
})

test('zin dev sets ZIN_DEV, and NODE_ENV=development unless the environment or .env sets it', () => {
  assert.deepEqual(devEnvironment({ PATH: '/bin' }, { OTHER: '1' }), { PATH: '/bin', NODE_ENV: 'development', ZIN_DEV: '1' })
  assert.deepEqual(devEnvironment({ NODE_ENV: 'test' }), { NODE_ENV: 'test', ZIN_DEV: '1' })
  assert.deepEqual(devEnvironment({}, { NODE_ENV: 'production' }), { ZIN_DEV: '1' })
})
