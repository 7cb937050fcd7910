import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { eventually } from '../../scripts/testing/eventually.js'

describe('zin status', () => {
  let app: AppFolder

  before(async () => {
    app = await appFolder({
      'zin.config.mjs': `
import { defineConfig } from 'zin'
import { cluster, database, kv, ops, queueMonitor, queues, workers } from 'zin/plugins'

export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [database(), kv(), cluster(), queues(), ops(), workers(), queueMonitor({ monitor: { interval: 1000 } })],
})
`,
      '.env': 'WORKER_PERSISTENCE_DRIVER=db\nWORKER_AUTO_START=true\n',
      'processors/one.mjs': 'export default () => 1',
    })
  })
  after(() => app.remove())

  it('exits with 1 while something needs attention, and reads the stores while no process answers', async () => {
    const running = await app.start()
    const call = async (path: string, body?: unknown): Promise<void> => {
      const headers = { 'x-requested-with': 'test', ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await fetch(`${running.url}${path}`, { method: 'POST', headers, ...sent })
      assert.ok(response.ok, `${path}: ${await response.text()}`)
    }
    await call('/api/workers', { name: 'shipper', queueName: 'shipping', processor: 'one.mjs' })
    const well = await app.zin(['status'])
    assert.deepEqual([well.code, well.out], [0, 'Nothing needs attention\n'])
    await call('/api/workers/shipper/pause')
    const list = async () => {
      const { body } = { body: (await (await fetch(`${running.url}/api/attention`)).json()) as { items: readonly { kind: string }[] } }
      return body.items.map(({ kind }) => kind)
    }
    await eventually('it is listed', async () => (await list()).length > 0)
    assert.deepEqual(await list(), ['worker-paused'])
    const paused = await app.zin(['status'])
    assert.equal(paused.code, 1)
    assert.match(paused.out, /^warning {2}worker:shipper {2}worker-paused, for \d+ s\n {2}The worker "shipper" is paused and takes no jobs/)
    const json = await app.zin(['status', '--json'])
    assert.deepEqual([json.code, JSON.parse(json.out).items[0].subject], [1, 'worker:shipper'])

    await running.end()
    const alone = await app.zin(['status'])
    assert.equal(alone.code, 1)
    assert.match(alone.out, /^No process answers on \S+; reading the stores of the app\n/)
    assert.match(alone.out, /worker-paused/)
    const elsewhere = await app.zin(['status', '--url', 'http://127.0.0.1:1'])
    assert.equal(elsewhere.code, 1)
    assert.match(elsewhere.err, /127\.0\.0\.1:1/)
  })
})
