import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { decisionsService } from 'zin/plugins/decisions'
import { eventually } from '../../scripts/testing/eventually.js'
import type { AttentionItem } from './attention/item.js'
import type { Delivery } from './deliveries/delivery.js'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'
import { Receiver } from './testing/receiver.js'

const [newSecret, oldSecret] = ['n', 'o'].map((letter) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`) as [string, string]

/** More than one page of deliveries. */
const busyDeliveries = 110

/** Webhooks, for each queue store. */
export function webhooksContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`webhooks on ${title}`, () => {
    let app: MonitoredApp
    let receiver: Receiver
    const call = async (method: string, path: string, body?: unknown, key?: string) =>
      app.call(method, `/api/queue/webhooks${path}`, { ...(body === undefined ? {} : { body }), ...(key === undefined ? {} : { key }) })
    const deliveriesOf = async (endpoint: string, state?: string): Promise<readonly Delivery[]> =>
      (await call('GET', `/deliveries?limit=100&endpoint=${endpoint}${state === undefined ? '' : `&state=${state}`}`)).body.deliveries
    const add = async (path: string, more: object = {}): Promise<string> => {
      const { body, status } = await call('POST', '', { url: receiver.url(path), queues: ['mails-a'], ...more })
      assert.equal(status, 201, JSON.stringify(body))
      return body.webhook.id
    }
    const work = async (jobs: readonly { readonly name: string; readonly data?: unknown }[]) => app.queues.addBulk('mails-a', jobs)

    before(async () => {
      receiver = await Receiver.open()
      app = await monitoredApp(env(), {
        monitor: {
          interval: 1000,
          alerts: { queueSize: false, processingTime: false, failureRate: false },
          webhookSecret: [newSecret, oldSecret],
          webhooks: { 'job.failed': receiver.url('/configured') },
          delivery: { retries: [1, 1], allowPrivate: true, timeout: 300, queues: 2 },
        },
      })
      await eventually('the endpoint of the options exists', async () => (await call('GET', '')).body.webhooks.length === 1)
    })
    after(async () => {
      await app?.host.stop()
      await receiver.close()
    })

    it('report completed and failed jobs, signed with each secret', async () => {
      await add('/all')
      const [good, bad] = await work([{ name: 'good' }, { name: 'bad', data: { bad: true } }])
      await eventually('both arrive', () => receiver.at('/all').length === 2)
      await eventually('the failure arrives', () => receiver.at('/configured').length === 1)
      for (const { headers, text } of receiver.at('/all')) {
        for (const secret of [newSecret, oldSecret]) new Webhook(secret).verify(text, headers as Record<string, string>)
        assert.throws(() => new Webhook(newSecret).verify(`${text} `, headers as Record<string, string>))
      }
      const [completed] = receiver.at('/all').filter(({ body }) => body.event === 'job.completed')
      const { processingTime, ...data } = completed?.body.data ?? {}
      assert.deepEqual(data, { jobId: good?.id, queue: 'mails-a', status: 'completed', attempts: 1 })
      assert.ok(processingTime >= 0 && Number.isFinite(Date.parse(completed?.body.timestamp)))
      const [failed] = receiver.at('/configured')
      assert.deepEqual([failed?.body.event, failed?.body.data.jobId, failed?.body.data.status], ['job.failed', bad?.id, 'failed'])
    })

    it('are retried with the same id and a new signature until they are accepted', async () => {
      receiver.answer('/shaky', (response, nth) => {
        if (nth === 1) response.writeHead(500).end()
        else if (nth === 2) response.destroy()
        else response.writeHead(200).end()
      })
      const id = await add('/shaky', { events: ['job.completed'] })
      await work([{ name: 'one' }])
      await eventually('it is delivered', async () => (await deliveriesOf(id, 'delivered')).length === 1)
      const sent = receiver.at('/shaky')
      assert.equal(sent.length, 3)
      assert.equal(new Set(sent.map(({ headers }) => headers['webhook-id'])).size, 1)
      const [delivery] = await deliveriesOf(id)
      assert.deepEqual(
        delivery?.tries.map(({ error, status }) => [status, error === null]),
        [
          [500, false],
          [null, false],
          [200, true],
        ],
      )
      assert.equal(delivery?.id, sent[0]?.headers['webhook-id'])
    })

    it('fail after all attempts, and can be resent with the same id; a delivered one gets a new id', async () => {
      let status = 503
      receiver.answer('/down', (response) => response.writeHead(status, { 'retry-after': '0' }).end())
      const id = await add('/down', { events: ['job.completed'] })
      await work([{ name: 'one' }])
      await eventually('it has failed', async () => (await deliveriesOf(id, 'failed')).length === 1)
      const [dead] = await deliveriesOf(id)
      assert.deepEqual([dead?.attempts, dead?.maxAttempts, dead?.error], [3, 3, 'The receiver responded with 503'])
      status = 204
      assert.deepEqual((await call('POST', `/deliveries/${dead?.id}/resend`)).body, { ok: true, id: dead?.id, resent: dead?.id })
      await eventually('it is delivered', async () => (await deliveriesOf(id, 'delivered')).length === 1)
      const again = (await call('POST', `/deliveries/${dead?.id}/resend`)).body.resent
      assert.notEqual(again, dead?.id)
      await eventually('both are delivered', async () => (await deliveriesOf(id, 'delivered')).length === 2)
      assert.deepEqual(
        receiver.at('/down').map(({ headers }) => headers['webhook-id']),
        [dead?.id, dead?.id, dead?.id, dead?.id, again],
      )
      assert.equal((await call('GET', `/deliveries/${again}`)).body.body, receiver.at('/down').at(-1)?.text)
      const changes = app.host.recorded('onWebhookChange').map(([change]) => (change as { action: string }).action)
      assert.deepEqual(changes.slice(-2), ['resend', 'resend'])
    })

    it('do not follow redirects, and time out on a hanging receiver', async () => {
      receiver.answer('/moved', (response) => response.writeHead(302, { location: receiver.url('/elsewhere') }).end())
      receiver.answer('/hangs', () => undefined)
      const [moved, hangs] = [await add('/moved', { events: ['job.failed'] }), await add('/hangs', { events: ['job.failed'] })]
      await work([{ name: 'bad', data: { bad: true } }])
      await eventually(
        'both have failed',
        async () => (await Promise.all([moved, hangs].map((id) => deliveriesOf(id, 'failed')))).flat().length === 2,
      )
      assert.equal(receiver.at('/elsewhere').length, 0)
      assert.match((await deliveriesOf(moved))[0]?.error ?? '', /responded with 302; redirects are not followed/)
      assert.match((await deliveriesOf(hangs))[0]?.error ?? '', /did not respond within 300 ms/)
    })

    it('are disabled by a 410 until they are enabled again', async () => {
      receiver.answer('/gone', (response, nth) => response.writeHead(nth === 1 ? 410 : 204).end())
      const id = await add('/gone', { events: ['job.completed'] })
      const view = async () => (await call('GET', '')).body.webhooks.find((one: { id: string }) => one.id === id)
      await work([{ name: 'first' }])
      await eventually('it is disabled', async () => (await view()).enabled === false)
      assert.match((await view()).disabled.reason, /410/)
      const [second] = await work([{ name: 'second' }])
      await eventually('the other endpoints receive it', () => receiver.at('/all').some(({ body }) => body.data.jobId === second?.id))
      assert.equal((await call('POST', `/endpoints/${id}/enable`)).body.webhook.enabled, true)
      const [third] = await work([{ name: 'third' }])
      await eventually('it receives events again', () => receiver.at('/gone').length === 2)
      assert.equal(receiver.at('/gone')[1]?.body.data.jobId, third?.id)
    })

    it('hide URLs and the delivery queue', async () => {
      const { body } = await call('GET', '')
      assert.ok(body.webhooks.every(({ target }: { target: string }) => /^http:\/\/127\.0\.0\.1:\d+\/…$/.test(target)))
      assert.doesNotMatch(JSON.stringify(body), /shaky|whsec/)
      assert.ok(!('zin-deliveries' in (await app.call('GET', '/api/queue/stats')).body.queues))
      for (const path of ['/api/queue/zin-deliveries/stats', '/api/jobs/completed?queue=zin-deliveries']) {
        assert.equal((await app.call('GET', path)).status, 404, path)
      }
      const [{ id }] = (await call('GET', '/deliveries')).body.deliveries
      assert.equal((await app.call('GET', `/api/jobs/${id}`)).status, 404)
      assert.ok(receiver.requests.every(({ body: sent }) => sent.data.queue === 'mails-a'))
    })

    it('are limited to the queues of an API key', async () => {
      assert.deepEqual((await call('GET', '', undefined, keys.readAll)).body.webhooks.length > 0, true)
      const ofKey = await call('POST', '', { url: receiver.url('/key') }, keys.adminA)
      assert.deepEqual([ofKey.status, ofKey.body.webhook.queues], [201, ['mails-a']])
      for (const queues of ['*', ['mails-b'], ['mails-a', 'mails-b']]) {
        assert.ok([403, 404].includes((await call('POST', '', { url: receiver.url('/key'), queues }, keys.adminA)).status), String(queues))
      }
      const ofB = (await call('POST', '', { url: receiver.url('/b'), queues: ['mails-b'] })).body.webhook.id
      const seen = (await call('GET', '', undefined, keys.adminA)).body.webhooks
      assert.ok(seen.length > 0 && seen.every(({ queues }: { queues: unknown }) => JSON.stringify(queues) === '["mails-a"]'))
      const requests = [
        ['POST', `/endpoints/${ofB}/disable`],
        ['DELETE', `/endpoints/${ofB}`],
        ['PATCH', `/endpoints/${ofB}`],
      ] as const
      for (const [method, path] of requests) {
        assert.equal((await call(method, path, method === 'PATCH' ? {} : undefined, keys.adminA)).body.code, 'WEBHOOK_NOT_FOUND', path)
        assert.equal((await call(method, path, method === 'PATCH' ? {} : undefined, keys.readAll)).status, 403, path)
      }
      const patched = await call('PATCH', `/endpoints/${ofKey.body.webhook.id}`, { events: ['job.failed'] }, keys.adminA)
      assert.deepEqual(patched.body.webhook.events, ['job.failed'])
      assert.equal((await call('DELETE', `/endpoints/${ofKey.body.webhook.id}`, undefined, keys.adminA)).status, 200)
      await app.queues.add('mails-b', 'x', {}, { jobId: 'b-1' })
      await app.queues.fail('mails-b', 'b-1', 'planted')
      await eventually('it is delivered', () => receiver.at('/b').length === 1)
      const [delivery] = await deliveriesOf(ofB)
      assert.equal((await call('GET', `/deliveries/${delivery?.id}`, undefined, keys.adminA)).status, 404)
      const visible = (await call('GET', '/deliveries?limit=100', undefined, keys.adminA)).body.deliveries
      assert.ok(visible.length > 0 && visible.every(({ queue }: Delivery) => queue === 'mails-a'))
    })

    it('reject invalid endpoints', async () => {
      for (const url of ['ftp://example.com/x', 'https://user:pw@example.com/', 'not a url at all', 'https://169.254.169.254/x']) {
        const { body, status } = await call('POST', '', { url })
        assert.deepEqual([status, body.code], [400, 'WEBHOOK_INVALID'], url)
      }
      const { webhooks } = (await call('GET', '')).body
      const configured = webhooks.find(({ source }: { source: string }) => source === 'options')
      assert.equal((await call('DELETE', `/endpoints/${configured.id}`)).body.code, 'WEBHOOK_IN_OPTIONS')
      assert.equal((await call('POST', '/deliveries/none/resend')).body.code, 'DELIVERY_NOT_FOUND')
      assert.equal((await call('POST', '/endpoints/none/enable')).body.code, 'WEBHOOK_NOT_FOUND')
    })

    it('are judged by their own deliveries: one that fails once is listed beside one that fails often, and goes when it works', async () => {
      const failing = async () => {
        const { items } = (await app.call('GET', '/api/attention')).body as { items: readonly AttentionItem[] }
        const found = items.filter(({ kind, subject }) => kind === 'webhook-failing' && ids.some((id) => subject === `webhook:${id}`))
        return Object.fromEntries(found.map(({ count, subject }) => [ids.findIndex((id) => subject === `webhook:${id}`), count]))
      }
      const bad = (path: string) => receiver.answer(path, (response) => response.writeHead(400).end())
      const jobs = (count: number, data: object = {}) => Array.from({ length: count }, () => ({ name: 'x', data }))
      const { webhooks } = (await call('GET', '')).body
      for (const { id, source } of webhooks) if (source !== 'options') await call('DELETE', `/endpoints/${id}`)
      const ids = [await add('/quiet', { events: ['job.failed'] }), await add('/busy', { events: ['job.completed'] })]
      for (const path of ['/quiet', '/busy']) bad(path)
      await work(jobs(1, { bad: true }))
      await eventually('the quiet one is listed', async () => (await failing())[0] === 1)
      await work(jobs(busyDeliveries))
      await eventually('both are listed', async () => (await failing())[1] === busyDeliveries)
      assert.deepEqual(await failing(), { 0: 1, 1: busyDeliveries })
      receiver.answer('/quiet', (response) => response.writeHead(204).end())
      await work(jobs(1, { bad: true }))
      await eventually('the quiet one has gone', async () => !('0' in (await failing())))
      assert.deepEqual(await failing(), { 1: busyDeliveries })
      receiver.answer('/busy', (response) => response.writeHead(204).end())
      await work(jobs(1))
      await eventually('both have gone', async () => Object.keys(await failing()).length === 0)
      for (const id of ids) await call('DELETE', `/endpoints/${id}`)
    })

    it('report queues that are not followed because of the limit', async () => {
      const endpoint = await add('/more', { queues: ['*'], events: ['job.failed'] })
      await app.queues.addBulk('a-later-queue', [{ name: 'x' }])
      const decisions = app.host.service(decisionsService)
      await eventually('it is recorded', async () => {
        await decisions.flush()
        const { decisions: found } = await decisions.list({ subject: 'webhook:followed' })
        return found.some(({ reason, verdict }) => verdict === 'left-out' && /\(a-later-queue\): webhooks follow at most 2/.test(reason))
      })
      assert.match(app.host.logText(), /The events of 1 queues are not delivered \(a-later-queue\)/)
      await work([{ name: 'bad', data: { bad: true } }])
      await eventually('those that it follows are delivered', () => receiver.at('/more').length === 1)
      assert.equal((await call('DELETE', `/endpoints/${endpoint}`)).status, 200)
    })
  })
}
