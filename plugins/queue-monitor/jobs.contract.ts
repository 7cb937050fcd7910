import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decisionsService } from 'zin/plugins/decisions'
import type { JobOptions } from 'zin/plugins/queues'
import { eventually } from '../../scripts/testing/eventually.js'
import type { JobAttempt } from './contract.js'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'
import { Receiver } from './testing/receiver.js'

const marker = 'only-of-queue-b'

/** Single jobs, and that an API key of another queue cannot see them, for each queue store. */
export function jobsContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`single jobs on ${title}`, () => {
    let app: MonitoredApp
    let receiver: Receiver
    const get = (path: string, key?: string) => app.call('GET', path, key === undefined ? {} : { key })
    const post = (path: string, body: unknown = {}, key?: string) => app.call('POST', path, { body, ...(key === undefined ? {} : { key }) })

    before(async () => {
      receiver = await Receiver.open()
      app = await monitoredApp(env(), {
        monitor: {
          interval: 1000,
          alerts: { queueSize: 0, processingTime: false, failureRate: false },
          webhookSecret: 'a secret of more than 24 bytes',
          delivery: { allowPrivate: true },
        },
      })
    })
    after(async () => {
      await app?.host.stop()
      await receiver.close()
    })

    it('show their flow, also when the parent has the id of a scheduled job', async () => {
      const parent = 'repeat:nightly:1764000000000'
      // Only the queue itself gives such ids.
      const queue = app.queues.queue('mails-b')
      await queue.add('report', {}, { jobId: parent })
      const { id } = await queue.add('part', {}, { parent: { id: parent, queue: queue.qualifiedName } })
      assert.equal((await get(`/api/jobs/mails-b:${id}`)).body.parent, `mails-b:${parent}`)
      const { root } = (await get(`/api/jobs/mails-b:${id}/flow`)).body
      assert.deepEqual([root.queue, root.id, root.children.map((child: { id: string }) => child.id)], ['mails-b', parent, [id]])
    })

    it('show their attempts with version, node and duration', async () => {
      const { id } = await app.queues.add('mails-a', 'x', { bad: true }, { attempts: 2 })
      const attempts = async (): Promise<readonly JobAttempt[]> => (await get(`/api/jobs/mails-a:${id}/attempts`)).body.attempts
      await eventually('both attempts are stored', async () => (await attempts()).filter(({ node }) => node !== null).length === 2)
      const [first, second] = await attempts()
      assert.deepEqual([first?.attempt, first?.outcome, first?.version, first?.error], [1, 'failed', '1.0.0', 'no such mailbox'])
      assert.deepEqual([second?.attempt, second?.outcome, (second?.runMs ?? -1) >= 0], [2, 'failed', true])
      const good = await app.queues.add('mails-a', 'y', {})
      await eventually('it completes', async () => (await app.queues.job('mails-a', good.id ?? ''))?.state === 'completed')
      const { body } = await get(`/api/jobs/mails-a:${good.id}/attempts`)
      assert.deepEqual(
        body.attempts.map(({ attempt, node, outcome, version }: JobAttempt) => [attempt, outcome, version, node === first?.node]),
        [[1, 'completed', '1.0.0', true]],
      )
    })

    it('say how many of their attempts are left out', async () => {
      const { id = '' } = await app.queues.add('tried', 'x', {}, { attempts: 100 })
      const worker = app.queues.worker('tried', () => Promise.reject(new Error('no')))
      await eventually('it fails', async () => (await app.queues.job('tried', id))?.state === 'failed')
      await worker.close()
      const { attempts, omitted, total } = (await get(`/api/jobs/tried:${id}/attempts`)).body
      assert.deepEqual([total, omitted, attempts.at(-1).attempt], [100, 50, 100])
      const { id: fresh } = await app.queues.add('tried', 'x', {}, { delay: 60_000 })
      assert.deepEqual((await get(`/api/jobs/tried:${fresh}/attempts`)).body, { attempts: [], total: 0, omitted: 0 })
    })

    it('show their log', async () => {
      const job = await app.queues.add('mails-c', 'logged', {})
      await job.log('one')
      await job.log('two')
      assert.deepEqual((await get(`/api/jobs/mails-c:${job.id}/logs`)).body, {
        logs: ['one', 'two'],
        count: 2,
        offset: 0,
        dropped: 0,
        ended: false,
      })
      assert.equal((await get(`/api/jobs/mails-c:${job.id}/logs`, keys.readAll)).body.code, 'MONITOR_FORBIDDEN')
    })

    it('are copied with their data, or with edited data whose redacted values are restored', async () => {
      const data = { to: 'a', auth: { password: 'p', list: [{ token: 't' }] } }
      const dataOf = async (id: string): Promise<unknown> => {
        const { job: stored } = (await app.queues.job('mails-c', id)) ?? assert.fail(`job ${id} is stored`)
        return app.queues.restoredData(stored)
      }
      const job = await app.queues.add('mails-c', 'original', data, { attempts: 7, delay: 3_600_000 })
      const copy = await post(`/api/jobs/mails-c:${job.id}/duplicate`)
      assert.equal(copy.status, 201)
      const copied = (await app.queues.job('mails-c', copy.body.id)) ?? assert.fail('the copy is stored')
      assert.deepEqual([copied.state, copied.job.name, copied.job.opts.attempts], ['waiting', 'original', 7])
      assert.deepEqual(await dataOf(copy.body.id), data)
      const shown = (await get(`/api/jobs/mails-c:${job.id}?include=payload`)).body.payload
      assert.equal(shown.auth.password, '[redacted]')
      const edited = await post(`/api/jobs/mails-c:${job.id}/duplicate`, { data: { ...shown, to: 'b' }, name: 'edited' })
      assert.deepEqual(await dataOf(edited.body.id), { ...data, to: 'b' })
      const moved = await post(`/api/jobs/mails-c:${job.id}/duplicate`, { data: { to: '[redacted]' } })
      assert.deepEqual([moved.status, moved.body.code], [400, 'REDACTED_VALUE_MOVED'])
      assert.equal((await post(`/api/jobs/mails-c:${job.id}/duplicate`, {}, keys.adminA)).status, 404)
      const own = await app.queues.add('mails-a', 'own', {}, { delay: 3_600_000 })
      assert.equal((await post(`/api/jobs/mails-a:${own.id}/duplicate`, {}, keys.writeA)).body.code, 'MONITOR_FORBIDDEN')
    })

    it('are copied with every option that they were added with, but for those of one job', async () => {
      const kept = {
        attempts: 4,
        backoff: { type: 'fixed', delay: 50 },
        lifo: true,
        priority: 3,
        removeOnComplete: { age: 1000, count: 5 },
        removeOnFail: { age: 2000 },
        keepLogs: 7,
        stackTraceLimit: 2,
        sizeLimit: 9000,
        timeout: 1234,
        subject: 'ann',
        somethingOfAPlugin: { x: 1 },
      }
      const own = { jobId: 'all-options', delay: 3_600_000, deduplication: { id: 'once' }, flowRoot: 'root' }
      const job = await app.queues.add('mails-c', 'options', {}, { ...kept, ...own } as JobOptions)
      const copy = await post(`/api/jobs/mails-c:${job.id}/duplicate`)
      const optionsOf = async (id: string) => (await app.queues.job('mails-c', id))?.job.opts as Readonly<Record<string, unknown>>
      const [original, copied] = [await optionsOf('all-options'), await optionsOf(copy.body.id)]
      for (const name of Object.keys(kept)) assert.deepEqual(copied[name], original[name], name)
      for (const name of Object.keys(own)) assert.ok(name === 'delay' ? !copied[name] : copied[name] !== original[name], name)
    })

    it('are cancelled while running', async () => {
      let running = (): void => undefined
      const begun = new Promise<void>((resolve) => {
        running = resolve
      })
      app.queues.worker('slow', async (_job, _token, signal) => {
        running()
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error(String(signal.reason))), { once: true }))
      })
      const { id } = await app.queues.add('slow', 'x', {})
      await begun
      const { body } = await post(`/api/jobs/slow:${id}/cancel`)
      assert.equal(body.outcome, 'cancelled')
      await eventually('it has failed', async () => (await app.queues.job('slow', id ?? ''))?.state === 'failed')
      assert.match((await get(`/api/jobs/slow:${id}`)).body.error, /Cancelled: by local local/)
    })

    it('in operations: a cancel stops an operation without rolling back completed steps', async () => {
      await app.queues.addBulk(
        'many',
        Array.from({ length: 300 }, () => ({ name: 'x' })),
      )
      const { operation } = (await post('/api/queue/many/cancel?wait=0')).body
      await post(`/api/operations/${operation.id}/cancel`)
      const read = async () => (await get(`/api/operations/${operation.id}`)).body.operation
      await eventually('its step ends', async () => (await read()).state !== 'running')
      const cancelled = await read()
      assert.equal(cancelled.state, 'cancelled')
      assert.equal((await app.queues.counts('many')).waiting, 300 - cancelled.changed)
      assert.equal((await post(`/api/operations/${operation.id}/cancel`)).body.operation.changed, cancelled.changed)
    })

    it('of queue B are invisible to a key of queue A', async () => {
      const job = await app.queues.add('mails-b', marker, { text: marker }, { jobId: 'b-1', delay: 3_600_000 })
      await app.queues.add('mails-b', marker, {}, { jobId: 'b-2' })
      await app.queues.fail('mails-b', 'b-2', marker)
      const { webhook } = (await post('/api/queue/webhooks', { url: receiver.url('/b'), queues: ['mails-b'], description: marker })).body
      await app.queues.add('mails-b', marker, {}, { jobId: 'b-3' })
      await app.queues.fail('mails-b', 'b-3', marker)
      await eventually('it is delivered', () => receiver.at('/b').length > 0)
      const delivery = String(receiver.at('/b')[0]?.headers['webhook-id'])
      await eventually('the alert is raised', async () =>
        (await get('/api/queue/alerts')).body.alerts.some(({ queue }: { queue: string }) => queue === 'mails-b'),
      )
      await app.host.service(decisionsService).flush()
      assert.ok((await get('/api/queue/mails-b/decisions')).body.decisions.length > 0)
      const { operation } = (await post('/api/queue/mails-b/retry?wait=30000', { maxAttempts: 0, olderThan: 3_600_000 })).body
      const before = await app.queues.counts('mails-b')

      const ids = ['b-1', 'mails-b:b-1', 'b-2', 'mails-b:b-3', operation.id, webhook.id, delivery]
      const bodies: Readonly<Record<string, readonly unknown[]>> = {
        '/graphql': [
          `{ queueStats { queues { name } } jobs(status: failed, limit: 50) { jobs { name error queue } } }`,
          `{ queue(name: "mails-b") { size } }`,
          `{ job(id: "b-1", queue: "mails-b", payload: true) { name payload } }`,
        ].map((query) => ({ query })),
        '/api/queue/webhooks': [
          { url: receiver.url('/x'), queues: ['mails-b'] },
          { url: receiver.url('/x'), queues: ['*'] },
        ],
        '/api/queue/:name/jobs': [{ name: 'x' }],
        '/api/queue/:name/purge': [{ status: 'all', confirm: 'mails-b' }],
      }
      const queries: Readonly<Record<string, string>> = { '/api/jobs': `?q=${marker}`, '/api/queue/webhooks/deliveries': '?limit=100' }
      const routes = app.host.host.view.routes().filter(({ plugin, use }) => plugin === 'queue-monitor' && use.includes('monitor'))
      assert.ok(routes.length > 30)
      for (const { method, path } of routes) {
        if (path === '/api/queue/events') continue // Streams are tested separately.
        const paths = path.includes(':id')
          ? ids.map((id) => path.replace(':id', encodeURIComponent(id)))
          : [path.replace(':name', 'mails-b')]
        for (const full of paths) {
          for (const body of bodies[path] ?? [{}]) {
            const url = `${full}${queries[path] ?? ''}`
            const isRead = method === 'GET' || method === 'DELETE'
            const response = await app.call(method, url, { key: keys.adminA, ...(isRead ? {} : { body }) })
            assert.doesNotMatch(JSON.stringify(response.body ?? null).replaceAll(url, ''), new RegExp(marker), `${method} ${url}`)
            if (path.includes(':')) assert.ok(response.status >= 400 && response.status < 500, `${method} ${url} ${response.status}`)
          }
        }
      }
      assert.deepEqual(await app.queues.counts('mails-b'), before)
      assert.equal((await get('/api/queue/webhooks')).body.webhooks.find(({ id }: { id: string }) => id === webhook.id)?.enabled, true)
      assert.equal((await job.getState()) as string, 'delayed')
    })
  })
}
