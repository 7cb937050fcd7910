import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions, decisionsService } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { queueMonitor } from '../index.js'
import type { EndpointView } from './endpoint.js'

const [first, second] = ['the-key-of-the-first-team', 'the-key-of-the-second-team']
const admin = { permissions: ['admin'], queues: ['mails', 'letters'] }

describe('webhook endpoints and the API keys that own them', () => {
  let dataDir: string
  let host: TestHost
  const start = async (apiKeys: object): Promise<void> => {
    host = await createTestHost({
      app: { name: 'revoked-keys' },
      plugins: [
        database(),
        kv(),
        cluster(),
        queues(),
        ops(),
        decisions(),
        queueMonitor({ apiKeys, monitor: { webhookSecret: 's'.repeat(32), delivery: { allowPrivate: true } } } as never),
      ],
      env: { QUEUE_FSYNC: 'off' },
      dataDir,
    })
  }
  const restart = async (apiKeys: object): Promise<void> => {
    await host.stop()
    await start(apiKeys)
  }
  const call = async (method: string, path: string, body?: object, key?: string) => {
    const headers = { 'x-requested-with': 'test', ...(key === undefined ? {} : { 'x-api-key': key }) }
    const response = await host.inject({ method, path: `/api/queue/webhooks${path}`, headers, ...(body && { body }) } as never)
    assert.ok(response.status < 300, response.text)
    return response.body as { webhook: EndpointView; webhooks: readonly EndpointView[] }
  }
  const find = async (id: string): Promise<EndpointView> => {
    const found = (await call('GET', '')).webhooks.find((one) => one.id === id)
    assert.ok(found)
    return found
  }
  const actions = (action: string) =>
    host.recorded('onManagementAction').flatMap(([one]) => ((one as { action: string }).action === action ? [one] : []))

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'zin-revoked-'))
    await start({ [first]: admin, [second]: admin })
  })
  after(async () => {
    await host.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('are disabled when the key is removed or covers fewer queues, and the reason is recorded', async () => {
    const added = async (url: string, key: string, queues: readonly string[]) =>
      (await call('POST', '', { url, queues, events: ['job.failed'] }, key)).webhook
    const gone = await added('http://127.0.0.1:65000/gone', first, ['mails'])
    const narrower = await added('http://127.0.0.1:65000/narrower', second, ['mails', 'letters'])
    const kept = await added('http://127.0.0.1:65000/kept', second, ['mails'])
    assert.deepEqual([gone.owner?.kind, gone.owner?.id], ['key', gone.createdBy?.id])
    assert.equal(actions('webhook.add').length, 3)

    await restart({ [second]: { ...admin, queues: ['mails'] } })
    await eventually('both are disabled without any request', () => actions('webhook.disable').length === 2)
    const reasons = await Promise.all([gone, narrower, kept].map(async ({ id }) => (await find(id)).disabled?.reason))
    assert.deepEqual(reasons, [
      `its API key ${gone.owner?.id} was revoked`,
      `its API key ${narrower.owner?.id} no longer covers the queues letters`,
      undefined,
    ])
    assert.deepEqual(
      actions('webhook.disable').map((one) => (one as { target: string; reason: string }).target),
      [`webhook:${gone.id}`, `webhook:${narrower.id}`],
    )
    const log = host.service(decisionsService)
    await log.flush()
    const { decisions: told } = await log.list({ subject: `webhook:${gone.id}` })
    assert.deepEqual([told[0]?.verdict, told[0]?.reason], ['disabled', `its API key ${gone.owner?.id} was revoked`])
  })

  it('are enabled again when another caller enables or changes them and becomes the owner', async () => {
    const [gone] = (await call('GET', '')).webhooks.filter(({ disabled }) => disabled?.reason.endsWith('was revoked'))
    assert.ok(gone)
    const enabled = (await call('POST', `/endpoints/${gone.id}/enable`)).webhook
    assert.deepEqual([enabled.enabled, enabled.owner?.kind, enabled.createdBy?.id], [true, 'local', gone.createdBy?.id])
    await restart({})
    await eventually(
      'those of the second key are disabled',
      async () => (await call('GET', '')).webhooks.filter(({ enabled: on }) => on).length === 1,
    )
    assert.equal((await find(gone.id)).enabled, true)
  })
})
