import assert from 'node:assert/strict'
import { mkdir, readdir, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder, type RunningApp } from '../../scripts/testing/app-folder.js'

const files = {
  'zin.config.mjs': `
import { defineConfig, definePlugin } from 'zin'
import { database } from 'zin/plugins/database'
import { kv, kvService } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
const shop = definePlugin({
  name: 'shop',
  version: '1.0.0',
  uses: { kv: kvService, queues: queuesService },
  setup(ctx) {
    const { kv, queues } = ctx.services
    ctx.route({
      method: 'POST',
      path: '/orders',
      body: { type: 'object' },
      handler: async ({ input: { body } }) => {
        await kv.set('order:' + body.order, 'kept')
        await queues.add('orders', 'order', { order: body.order }, { jobId: 'order-' + body.order })
        return {}
      },
    })
    ctx.route({
      method: 'GET',
      path: '/orders',
      handler: async () => {
        const jobs = await queues.list('orders', 'waiting', { offset: 0, limit: 10000 })
        const orders = jobs.map(({ data }) => data.order)
        const values = await kv.getMany(orders.map((order) => 'order:' + order))
        return { orders, kept: orders.filter((_order, index) => values[index] === 'kept') }
      },
    })
  },
})
export default defineConfig({ app: { name: 'shop', port: 0 }, plugins: [database(), kv(), queues(), ops(), shop()] })
`,
}

describe('zin backup', () => {
  let app: AppFolder
  before(async () => {
    app = await appFolder(files)
  })
  after(() => app.remove())

  const add = async ({ url }: RunningApp, order: number): Promise<void> => {
    const response = await fetch(`${url}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ order }),
    })
    assert.equal(response.status, 200, await response.text())
  }

  it('copies a running app under load with every job that was acknowledged before, and the copy boots', async () => {
    const running = await app.start()
    for (let order = 0; order < 50; order++) await add(running, order)
    let ended = false
    const load = (async () => {
      for (let order = 50; !ended; order++) await add(running, order)
    })()
    const { code, err, out } = await app.zin(['backup', 'copy'])
    ended = true
    await load
    assert.equal(code, 0, err)
    assert.match(out, /queues: \d+ jobs/)
    assert.match(out, /database: app\.db/)
    await running.end()

    const copy = join(app.folder, 'copy')
    const restored = await app.start({ ZIN_DATA_DIR: copy })
    const { kept, orders } = (await (await fetch(`${restored.url}/orders`)).json()) as Record<'kept' | 'orders', readonly number[]>
    const acknowledged = Array.from({ length: 50 }, (_, order) => order)
    assert.deepEqual(
      acknowledged.filter((order) => !orders.includes(order)),
      [],
    )
    assert.deepEqual(
      acknowledged.filter((order) => !kept.includes(order)),
      [],
    )
    await add(restored, 1_000_000)
    await restored.end()

    const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777
    const original = join(app.folder, '.zin', 'data')
    for (const name of ['', 'app.db', 'queue', ...(await readdir(join(copy, 'queue'))).map((one) => join('queue', one))]) {
      const found = await modeOf(join(original, name)).catch(() => undefined)
      if (found !== undefined) assert.equal((await modeOf(join(copy, name))).toString(8), found.toString(8), name)
    }
  })

  it('copies a stopped app, and never overwrites anything', async () => {
    const { code, err } = await app.zin(['backup', 'cold'])
    assert.equal(code, 0, err)
    const before = await readdir(app.folder)
    for (const target of ['cold', join('.zin', 'data', 'inside'), join('nowhere', 'copy')]) {
      const refused = await app.zin(['backup', target])
      assert.equal(refused.code, 2, refused.err)
      assert.match(refused.err, /folder that does not exist yet/)
    }
    assert.deepEqual(await readdir(app.folder), before)
  })

  it('refuses a target in the data directory, or around it, also along symbolic links', async (t) => {
    const data = join(app.folder, '.zin', 'data')
    const link = (name: string, to: string) => symlink(to, join(app.folder, name), 'junction')
    await link('to-data', data)
    await mkdir(join(data, 'inner'))
    await link('to-inner', join(data, 'inner'))
    await link('to-app', app.folder)
    await link('dangling', join(app.folder, 'nothing'))
    t.after(async () => {
      await rm(join(data, 'inner'), { recursive: true, force: true })
      for (const name of ['to-data', 'to-inner', 'to-app', 'dangling']) await rm(join(app.folder, name))
    })
    const before = [await readdir(app.folder), await readdir(data, { recursive: true })]
    const refusals: readonly (readonly [target: string, reason: RegExp, dataDir?: string])[] = [
      [join('to-data', 'copy'), /is in the data directory/],
      [join('to-inner', 'copy'), /is in the data directory/],
      [join('to-app', '.zin', 'data', 'copy'), /is in the data directory/],
      ['copy-of-link', /is in the data directory/, join(app.folder, 'to-app')],
      ['to-data', /exists/],
      ['dangling', /exists/],
      [join('to-app', '.zin'), /exists/],
      // A data directory that does not exist yet.
      ['around', /contains the data directory/, join(app.folder, 'to-app', 'around', 'data')],
    ]
    for (const [target, reason, dataDir] of refusals) {
      const { code, err } = await app.zin(['backup', target], dataDir === undefined ? {} : { ZIN_DATA_DIR: dataDir })
      assert.equal(code, 2, err)
      assert.match(err, reason)
      assert.match(err, /\[BACKUP_TARGET\]|folder that does not exist yet, outside of the data directory/)
    }
    assert.deepEqual([await readdir(app.folder), await readdir(data, { recursive: true })], before)
  })

  it('copies through a symbolic link to a folder elsewhere, and names beginning with points are not mistaken for parents', async (t) => {
    await symlink(app.folder, join(app.folder, 'to-app'), 'junction')
    t.after(() => rm(join(app.folder, 'to-app')))
    for (const target of [join('to-app', 'linked'), '..beside']) {
      const { code, err } = await app.zin(['backup', target])
      assert.equal(code, 0, err)
    }
    assert.ok((await readdir(join(app.folder, 'linked'))).includes('app.db'))
    const inside = await app.zin(['backup', join('.zin', 'data', '..inside')])
    assert.equal(inside.code, 2, inside.err)
  })

  it('names the tools to use when jobs and tables are on servers', async () => {
    const env = { REDIS_URL: 'redis://127.0.0.1:1', DB_CONNECTION: 'rdb', ZIN_DATA_DIR: `${app.folder}/empty` }
    const missing = await app.zin(['backup', 'servers'], env)
    assert.equal(missing.code, 1)
    assert.match(missing.err, /nothing to back up.*(BGSAVE|ZIN_DATA_DIR)/s)
  })

  it('is not possible over HTTP alone', async () => {
    const running = await app.start()
    const response = await fetch(`${running.url}/api/backup`, { method: 'POST', headers: { 'x-requested-with': 'test' } })
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [409, 'BACKUP_NOT_ASKED'])
    await running.end()
  })
})
