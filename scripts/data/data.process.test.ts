import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../testing/app-folder.js'
import { eventually } from '../testing/eventually.js'
import { readDataFile, writeData } from './file.js'

const files = {
  'zin.config.mjs': `
import { defineConfig, definePlugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { queues, queuesService } from 'zin/plugins/queues'
const notes = new Map()
const shop = definePlugin({
  name: 'shop',
  version: '1.0.0',
  uses: { kv: kvService, queues: queuesService },
  setup(ctx) {
    const { kv, queues } = ctx.services
    ctx.route({ method: 'POST', path: '/orders', handler: async () => {
      await kv.set('order', 'kept')
      await queues.add('orders', 'order', { order: 1 }, { jobId: 'order-1' })
      return {}
    } })
    ctx.route({ method: 'GET', path: '/orders', handler: async () => ({ kept: await kv.get('order'), waiting: (await queues.counts('orders')).waiting }) })
    // Data of a plugin that is in none of the stores.
    ctx.hooks.on('collectData', () => ({
      open: () => ({
        where: 'notes',
        size: async () => notes.size,
        async *read() {
          yield { of: 'notes', text: 'hello' }
          return []
        },
        checker: () => ({ text }) => {
          if (typeof text !== 'string') throw new Error('a note has no text')
        },
        write: async (records) => { for (const { text } of records) console.error('note ' + text) },
        clear: async () => notes.clear(),
      }),
    }))
  },
})
export default defineConfig({ app: { name: 'shop', port: 0 }, plugins: [database(), kv(), cluster(), queues(), shop()] })
`,
}

/** Plugins that keep data, of all kinds. */
const manyPlugins = {
  'zin.config.mjs': `
import { defineConfig } from 'zin'
import * as of from 'zin/plugins'
export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [
    of.database(), of.kv(), of.cluster(), of.queues(), of.health(), of.jwt(), of.bulletproof(), of.login(), of.ops(), of.sessions(),
    of.rateLimit({ limit: 100 }), of.workers(), of.workerHealth(), of.canary(), of.breaker(), of.autoscale(), of.decisions(), of.resources(),
    of.queueMonitor(), of.compliance(), of.observability(),
  ],
})
`,
}

describe('an app of many plugins', () => {
  it('imports into stores that are empty: no plugin writes to them when a command starts it', async () => {
    const app = await appFolder(manyPlugins)
    try {
      const given = { APP_KEY: 'k'.repeat(40) }
      const exported = await app.zin(['data:export', '--out', 'data.ndjson'], { ...given, ZIN_DATA_DIR: join(app.folder, 'first') })
      assert.equal(exported.code, 0, exported.err)
      const { code, err } = await app.zin(['data:import', 'data.ndjson', '--yes'], { ...given, ZIN_DATA_DIR: join(app.folder, 'second') })
      assert.equal(code, 0, err)
    } finally {
      await app.remove()
    }
  })
})

describe('zin data:export and data:import', () => {
  let app: AppFolder
  let file: string
  before(async () => {
    app = await appFolder(files)
    file = join(app.folder, 'data.ndjson')
  })
  after(() => app.remove())
  const other = (name: string) => ({ ZIN_DATA_DIR: join(app.folder, name) })

  it('refuse to run beside the app, and write a file that only its owner can read', async () => {
    const running = await app.start()
    await fetch(`${running.url}/orders`, { method: 'POST' })
    for (const args of [
      ['data:export', '--out', 'data.ndjson'],
      ['data:import', 'none', '--yes'],
    ]) {
      const { code, err } = await app.zin(args)
      assert.equal(code, 1)
      assert.match(err, /Stop the app on every machine first|is in use by process/)
    }
    await running.end()
    const { code, err, out } = await app.zin(['data:export', '--out', 'data.ndjson'])
    assert.equal(code, 0, err)
    assert.match(out, /Records exported: .*kv \d+.*\n.*only its owner can read/)
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const again = await app.zin(['data:export', '--out', 'data.ndjson'])
    assert.deepEqual([again.code, /exists; nothing is overwritten/.test(again.err)], [1, true])
    const piped = await app.zin(['data:export'])
    assert.equal(piped.code, 0, piped.err)
    assert.equal(piped.out.split('\n').length, (await readFile(file, 'utf8')).split('\n').length)
    assert.match(piped.err, /Records exported/)
  })

  it('write to empty stores only, with consent, and to others when they may replace what is there', async () => {
    const env = other('second')
    const unconfirmed = await app.zin(['data:import', 'data.ndjson'], env)
    assert.deepEqual([unconfirmed.code, /--yes/.test(unconfirmed.err)], [2, true], unconfirmed.err)
    const imported = await app.zin(['data:import', 'data.ndjson', '--yes'], env)
    assert.equal(imported.code, 0, imported.err)
    assert.match(imported.err, /note hello/)
    const running = await app.start(env)
    assert.deepEqual(await (await fetch(`${running.url}/orders`)).json(), { kept: 'kept', waiting: 1 })
    await running.end()
    const full = await app.zin(['data:import', 'data.ndjson', '--yes'], env)
    assert.equal(full.code, 1)
    assert.match(full.err, /have data already: .*queues \(the embedded queue\) has \d+ records?.*--replace/)
    const replaced = await app.zin(['data:import', 'data.ndjson', '--yes', '--replace', '--without', 'queues/orders', '--json'], env)
    assert.equal(replaced.code, 0, replaced.err)
    assert.equal(JSON.parse(replaced.out).records.shop, 1)
    const again = await app.start(env)
    assert.deepEqual(await (await fetch(`${again.url}/orders`)).json(), { kept: 'kept', waiting: 0 })
    await again.end()
  })

  it('begin anew after an import that was killed, and the app does not start before', async () => {
    const env = other('third')
    const { head, records } = await readDataFile(file)
    const many = Array.from({ length: 60_000 }, (_, i) => ({ part: 'kv', of: 'keys', key: `many-${i}`, value: 'x' }))
    await writeData(join(app.folder, 'many.ndjson'), head, [...records, ...many])
    const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli.js')
    const child = spawn(process.execPath, [cli, 'data:import', 'many.ndjson', '--yes'], {
      cwd: app.folder,
      env: { ...process.env, ...env },
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    await eventually('it writes', async () =>
      (await readFile(join(app.folder, 'third', 'import.json'), 'utf8').catch(() => '')).includes('importing'),
    )
    child.kill('SIGKILL')
    await exited
    await assert.rejects(app.start(env), /is incomplete: an import into it was ended before it was done/)
    const refused = await app.zin(['data:export'], env)
    assert.deepEqual([refused.code, /is incomplete/.test(refused.err)], [1, true], refused.err)
    const { code, err } = await app.zin(['data:import', 'many.ndjson', '--yes'], env)
    assert.equal(code, 0, err)
    const running = await app.start(env)
    assert.deepEqual(await (await fetch(`${running.url}/orders`)).json(), { kept: 'kept', waiting: 1 })
    await running.end()
    const exported = await app.zin(['data:export', '--out', 'third.ndjson'], env)
    assert.equal(exported.code, 0, exported.err)
    const found = (await readDataFile(join(app.folder, 'third.ndjson'))).records
    assert.equal(found.filter(({ key }) => String(key).startsWith('many-')).length, many.length)
  })
})
