import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { markProcess } from 'zin'
import { type AppFolder, appFolder, type RunningApp } from '../../scripts/testing/app-folder.js'

const config = `
import { defineCommand, defineConfig, definePlugin } from 'zin'
import { queues, queuesService } from 'zin/plugins/queues'
const count = (needs, run) => defineCommand({ name: 'shop:' + needs.replaceAll(' ', '-'), summary: 'Count', needs, run })
const shop = definePlugin({
  name: 'shop',
  version: '1.0.0',
  uses: { queues: queuesService },
  setup(ctx) {
    const { queues } = ctx.services
    ctx.route({ method: 'POST', path: '/orders/:id', handler: async ({ input }) => {
      await queues.add('orders', 'order', {}, { jobId: 'order-' + input.params.id })
      return {}
    } })
    ctx.commands([
      count('services', async ({ print, service }) => print.line(String((await service(queuesService).counts('orders')).waiting))),
      count('running app', async ({ app, print }) => print.line(String((await app.request({ method: 'GET', path: '/orders' })).waiting))),
    ])
    ctx.route({ method: 'GET', path: '/orders', handler: async () => ({ waiting: (await queues.counts('orders')).waiting }) })
  },
})
export default defineConfig({ app: { name: 'shop', port: 0 }, plugins: [queues(), shop()] })
`

/** Starts a command as in another container with the same host name, which ends with it; undefined if this system does not allow it. */
const container = [['--pid'], ['--map-root-user', '--pid']]
  .map((flags) => ['unshare', ...flags, '--fork', '--mount-proc', '--kill-child'])
  .find(([command = '', ...args]) => spawnSync(command, [...args, 'true']).status === 0)

describe('two processes on one data directory', () => {
  let app: AppFolder
  let dataDir = ''
  before(async () => {
    app = await appFolder({ 'zin.config.mjs': config })
    dataDir = join(app.folder, '.zin', 'data')
  })
  after(() => app.remove())

  const add = ({ url }: RunningApp, id: number): Promise<Response> => fetch(`${url}/orders/${id}`, { method: 'POST' })
  const lock = (): string => join(dataDir, 'lock')

  /** What `zin start` says in another container, or beside a process of another one. */
  async function startElsewhere(): Promise<{ readonly code: number | null; readonly text: string }> {
    const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli.js')
    const [command, ...args] = [...(container ?? []), process.execPath, cli, 'start']
    const { HOME = '', PATH = '' } = process.env
    const child = spawn(command, args, { cwd: app.folder, env: { HOME, PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    const read = (chunk: Buffer): void => {
      text += chunk
      // It should have been refused.
      if (text.includes('listens on')) child.kill('SIGKILL')
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, text }
  }

  it('include a command that opens the stores, which is told what to declare instead', async () => {
    const running = await app.start()
    try {
      const refused = await app.zin(['shop:services'])
      assert.equal(refused.code, 1)
      assert.match(refused.err, /in use by .* ask the running app instead: declare needs: 'running app' \[ZIN_DATA_IN_USE\]\n$/)
      const asked = await app.zin(['shop:running-app'])
      assert.deepEqual([asked.code, asked.out], [0, '0\n'], asked.err)
    } finally {
      await running.end()
    }
  })

  it('are refused in containers with one host name, and the running one keeps its lock and every acknowledged job', async () => {
    const running = await app.start()
    for (const id of [1, 2, 3]) assert.equal((await add(running, id)).status, 200)
    const held = await readFile(lock(), 'utf8')
    // Without namespaces, the lock of this process names another one, and this test updates it in place of the app.
    const mark = { ...(await markProcess(dataDir)), namespace: 'pid:[1]', pid: 2 ** 30 }
    if (!container) await running.kill()
    if (!container) await writeFile(lock(), JSON.stringify(mark))
    const updates = container ? undefined : setInterval(() => void utimes(lock(), new Date(), new Date()), 500)
    const second = await startElsewhere()
    clearInterval(updates)
    assert.match(second.text, /in use by process \d+ in another container.*\[ZIN_DATA_IN_USE\]/s)
    assert.notEqual(second.code, 0)
    assert.equal(await readFile(lock(), 'utf8'), container ? held : JSON.stringify(mark))
    if (!container) return
    for (const id of [4, 5, 6]) assert.equal((await add(running, id)).status, 200)
    await running.kill()
    const again = await app.start()
    assert.deepEqual(await (await fetch(`${again.url}/orders`)).json(), { waiting: 6 })
    assert.equal(await again.end(), 0)
  })

  it('stop sharing it: the one whose lock was taken says so, refuses jobs, and leaves the lock and the files alone', {
    timeout: 60_000,
  }, async () => {
    const running = await app.start()
    const taker = JSON.stringify({ ...(await markProcess(dataDir)), namespace: 'pid:[1]' })
    await writeFile(lock(), taker)
    await running.said(/lock of the data directory .* is now that of process \d+ in another container/)
    const before = await digest(join(dataDir, 'queue'))
    const refused = await add(running, 7)
    assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [503, 'QUEUE_DATA_TAKEN'])
    await running.end()
    assert.equal(await readFile(lock(), 'utf8'), taker)
    assert.equal(await digest(join(dataDir, 'queue')), before)
  })
})

async function digest(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name, parentPath }) => join(parentPath, name))
  for (const file of files.toSorted()) hash.update(file).update(await readFile(file))
  return hash.digest('hex')
}
