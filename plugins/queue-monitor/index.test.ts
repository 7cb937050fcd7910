import assert from 'node:assert/strict'
import { it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { type JobViews, queuesService } from 'zin/plugins/queues'
import { createTestHost, describePlugin, fake } from 'zin/testing'
import { queueMonitor } from './index.js'

const fakeViews = { redactAlso: () => () => undefined } as Pick<JobViews, 'redactAlso'> as JobViews
const noQueues = fake(queuesService, {
  backend: 'embedded',
  names: async () => [],
  sample: async () => new Map(),
  views: fakeViews,
})

describePlugin(() => [database(), kv(), cluster(), ops()], queueMonitor, {
  services: [noQueues],
  readme: new URL('./README.md', import.meta.url),
})

const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const boot = (monitor: object) =>
  createTestHost({ plugins: [database(), kv(), cluster(), ops(), queueMonitor({ monitor })], services: [noQueues] })

it('invalid alert actions and webhooks prevent the boot', async () => {
  const url = 'https://hooks.example.com/x'
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ alerts: { queueSize: { threshold: 1, action: 'slack' } } }, /queue-size: the action slack requires "webhook"/],
    [{ alerts: { queueSize: { threshold: 1, action: 'email' } } }, /requires "recipients"/],
    [{ alerts: { queueSize: { threshold: 1, action: 'email', recipients: ['a@example.com'] } } }, /requires the option monitor.smtp/],
    [{ alerts: { queueSize: { threshold: 1, action: 'webhook', webhook: url } } }, /requires monitor.webhookSecret/],
    [{ webhooks: [url], webhookSecret: 'short' }, /fewer than 24 bytes/],
    [{ webhooks: ['https://127.0.0.1/x'], webhookSecret: secret }, /belongs to this machine/],
    [{ webhooks: ['http://hooks.example.com/x'], webhookSecret: secret }, /only https: URLs are/],
    [{ webhooks: [url, url], webhookSecret: secret }, /contains a duplicate endpoint/],
  ]
  for (const [monitor, message] of cases) await assert.rejects(boot(monitor), message)
})

it('production refuses API keys that are too short, without showing them', async () => {
  const bootWith = (key: string, NODE_ENV: string) =>
    createTestHost({
      plugins: [database(), kv(), cluster(), jwt(), ops(), queueMonitor({ apiKeys: { [key]: { permissions: ['read'], queues: '*' } } })],
      services: [noQueues],
      env: { NODE_ENV, APP_NAME: 'shop', APP_KEY: 'a key that is long enough for tests only' },
    })
  await assert.rejects(bootWith('short-key', 'production'), (error: Error) => {
    assert.match(error.message, /an API key in apiKeys has 9 characters; production requires at least 16/)
    assert.doesNotMatch(error.message, /short-key/)
    return true
  })
  for (const blank of [' '.repeat(20), ` ${'k'.repeat(15)} `])
    await assert.rejects(bootWith(blank, 'production'), /has (0|15) characters; production requires at least 16/)
  await (await bootWith('short-key', 'test')).stop()
})
