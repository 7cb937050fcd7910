import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { freePort } from '../../scripts/testing/free-port.js'
import { quickStart } from '../../scripts/testing/runnable.js'

const repository = join(import.meta.dirname, '..', '..')
const cli = join(repository, 'dist', 'cli.js')
const config = `
import { defineConfig, definePlugin } from 'zin'
import { queues } from 'zin/plugins'

const where = definePlugin({
  name: 'where',
  version: '1.0.0',
  setup({ route, command }) {
    route({ method: 'GET', path: '/where', summary: 'Names the process', handler: () => ({ pid: process.pid }) })
    command({ name: 'where', summary: 'Names the process', needs: 'running app', json: true, run: async ({ app, print }) => print.record(await app.request({ method: 'GET', path: '/where' })) })
  },
})

export default defineConfig({ app: { name: 'shop' }, plugins: [queues(), where()] })
`

describe('a copied folder of an app', () => {
  let root = ''
  let original = ''
  const started = new Set<ChildProcess>()
  const [first, second] = [freePort(), freePort()]

  before(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'zin-copied-')))
    original = join(root, 'original')
    await mkdir(original)
    await writeFile(join(original, 'package.json'), '{"name":"shop","type":"module"}')
    await symlink(join(repository, 'node_modules'), join(original, 'node_modules'), 'junction')
    await writeFile(join(original, 'zin.config.mjs'), config)
    await writeFile(join(original, '.env'), `PORT=${await first}\n`)
  })
  after(async () => {
    for (const child of started) child.kill('SIGKILL')
    await rm(root, { recursive: true, force: true, maxRetries: 3 })
  })

  function run(args: readonly string[], cwd: string) {
    const { PATH = '', HOME = '', TMPDIR = '' } = process.env
    const child = spawn(process.execPath, [...quickStart(), cli, ...args], {
      cwd,
      env: { PATH, HOME, ...(TMPDIR === '' ? {} : { TMPDIR }) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    started.add(child)
    child.once('exit', () => started.delete(child))
    const text = { out: '', err: '' }
    child.stdout.on('data', (chunk) => (text.out += chunk))
    child.stderr.on('data', (chunk) => (text.err += chunk))
    return { child, text }
  }
  async function start(cwd: string): Promise<ChildProcess> {
    const { child, text } = run(['start'], cwd)
    await new Promise<void>((resolve, reject) => {
      child.stdout.on('data', () => {
        if (/listens on http:/.test(text.out)) resolve()
      })
      child.once('exit', () => reject(new Error(text.err + text.out)))
    })
    return child
  }
  async function where(cwd: string): Promise<number | string> {
    const { child, text } = run(['where', '--json'], cwd)
    await once(child, 'close')
    return text.out === '' ? text.err : ((JSON.parse(text.out) as { pid?: number }).pid ?? text.out)
  }
  async function end(child: ChildProcess): Promise<void> {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
  }

  it('is an app of its own: its commands do not reach the original, and both run beside each other', async () => {
    const app = await start(original)
    assert.equal(await where(original), app.pid)
    const copy = join(root, 'copy')
    await cp(original, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
    assert.ok((await readFile(join(copy, '.zin/data/run.json'), 'utf8')).includes(`"port":${await first}`))
    await writeFile(join(copy, '.env'), `PORT=${await second}\n`)
    assert.match(String(await where(copy)), new RegExp(`no app responds on http://127.0.0.1:${await second}`))

    const other = await start(copy)
    assert.deepEqual([await where(copy), await where(original)], [other.pid, app.pid])
    await end(other)
    assert.equal(await where(original), app.pid)

    const link = join(root, 'link')
    await symlink(original, link, 'junction')
    assert.equal(await where(link), app.pid)
    await assert.rejects(start(link), /ZIN_DATA_IN_USE/)

    const moved = join(root, 'moved')
    await rename(original, moved)
    assert.equal(await where(moved), app.pid)
    await assert.rejects(start(moved), /ZIN_DATA_IN_USE/)
    await rename(moved, original)
    await end(app)
  })
})
