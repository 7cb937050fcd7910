import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { Receiver } from './testing/receiver.js'

const jobs = 60

describe('webhooks of an app that is killed', () => {
  let app: AppFolder
  let receiver: Receiver

  before(async () => {
    receiver = await Receiver.open()
    app = await appFolder({
      'zin.config.mjs': `
import { defineConfig } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'

export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [
    database(), kv(), cluster(), queues(), ops(), workers(),
    queueMonitor({
      monitor: {
        interval: 1000,
        webhooks: ['${receiver.url('/events')}'],
        webhookSecret: 'a secret of more than 24 bytes',
        delivery: { allowPrivate: true, retries: [200, 200, 200, 200, 200] },
      },
    }),
  ],
})
`,
      '.env': 'WORKER_PERSISTENCE_DRIVER=db\nWORKER_AUTO_START=true\nCLUSTER_HEARTBEAT_MS=1000\n',
      'processors/one.mjs': 'export default () => 1',
    })
  })
  after(async () => {
    await app.remove()
    await receiver.close()
  })

  it('lose no event, and repeat a delivery only if the app was killed between response and record', async () => {
    let running = await app.start()
    const call = async (method: string, path: string, body?: unknown) => {
      const headers = { 'x-requested-with': 'test', ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
      const response = await fetch(`${running.url}${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    await call('POST', '/api/workers', { name: 'shipper', queueName: 'shipping', processor: 'one.mjs' })
    await call('POST', '/api/workers/shipper/start')
    const ids = new Set<string>()
    const add = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n++) ids.add(((await call('POST', '/api/workers/shipper/jobs', {})).body.job as { id: string }).id)
    }
    const told = (): Set<string> => new Set(receiver.requests.map(({ body }) => body.data.jobId))
    await add(jobs)
    await eventually('deliveries begin', () => receiver.requests.length > 5)
    await running.kill()
    running = await app.start()
    await add(5)
    await eventually('every job has been delivered', () => [...ids].every((id) => told().has(id)))
    const byId = new Map<string, number>()
    for (const { headers } of receiver.requests) {
      const id = String(headers['webhook-id'])
      byId.set(id, (byId.get(id) ?? 0) + 1)
    }
    assert.equal(byId.size, ids.size, 'one id for each event')
    // At most the deliveries in flight at each kill.
    assert.ok([...byId.values()].filter((times) => times > 1).length <= 20)
    assert.ok([...byId.values()].every((times) => times <= 2))
  })
})
