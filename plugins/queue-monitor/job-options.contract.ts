import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../../scripts/testing/eventually.js'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'

/** Jobs that operators add, and what the details and the log of a job show, for each queue store. */
export function jobOptionsContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`jobs that operators add on ${title}`, () => {
    let app: MonitoredApp
    const get = (path: string, key?: string) => app.call('GET', path, key === undefined ? {} : { key })
    const add = (options: object, data: unknown = {}) => app.call('POST', '/api/queue/mails-c/jobs', { body: { name: 'x', data, options } })

    before(async () => {
      app = await monitoredApp(env(), { monitor: { interval: 60_000 } })
      for (const queue of ['mails-b', 'mails-c']) await app.queues.add(queue, 'first', {})
    })
    after(() => app?.host.stop())

    it('are found by their id alone, in the only queue that has it', async () => {
      const [{ id: one }, { id: other }] = [await app.queues.add('mails-b', 'x', {}), await app.queues.add('mails-c', 'x', {})]
      const added = (await add({})).body.id
      for (const [id, queue] of [
        [one, 'mails-b'],
        [other, 'mails-c'],
        [added, 'mails-c'],
      ]) {
        const { body, status } = await get(`/api/jobs/${id}`)
        assert.deepEqual([status, body.queue], [200, queue])
      }
      // Another producer may use the same id in two queues.
      for (const queue of ['mails-b', 'mails-c']) await app.queues.queue(queue).add('x', {}, { jobId: 'foreign' })
      assert.deepEqual([(await get('/api/jobs/foreign')).status, (await get('/api/jobs/mails-b:foreign')).status], [409, 200])
    })

    it('are answered with 200 and deduplicated when one with their jobId or deduplication id exists', async () => {
      for (const options of [
        { jobId: 'same' },
        { deduplication: { id: 'same' } },
        { deduplication: { id: 'again', mode: 'keep-latest' } },
      ]) {
        const first = await add(options, { n: 1 })
        assert.deepEqual([first.status, first.body.deduplicated], [201, false])
        const second = await add(options, { n: 2 })
        assert.deepEqual([second.status, second.body.deduplicated, second.body.id], [200, true, first.body.id])
        const replaced = JSON.stringify(options).includes('keep-latest')
        assert.equal((await get(`/api/jobs/${first.body.id}`)).body.payload.n, replaced ? 2 : 1)
      }
    })

    it('are refused with 400 and stored nowhere when a backoff, a deduplication or a jobId is wrong', async () => {
      const before = await app.queues.counts('mails-c')
      for (const options of [
        { backoff: { type: 'linear', delay: 1 } },
        { backoff: { type: 'fixed', delay: -1 } },
        { backoff: { type: 'fixed', delay: 1, max: 0 } },
        { backoff: { type: 'fixed', delay: 1, jitter: 2 } },
        { deduplication: { id: '' } },
        { deduplication: { id: 'x', mode: 'never' } },
        { deduplication: { id: 'x', mode: 'debounce' } },
        { deduplication: { id: 'x', mode: 'keep-latest', ttl: 5 } },
        ...['NaN', '12', '-0'].map((jobId) => ({ jobId })),
      ]) {
        assert.equal((await add(options)).status, 400, JSON.stringify(options))
      }
      assert.deepEqual(await app.queues.counts('mails-c'), before)
      assert.equal((await add({ backoff: { type: 'exponential', delay: 1000, max: 5000, jitter: 0.2 }, attempts: 3 })).status, 201)
    })

    it('show their payload to callers with payload:read, and narrow by include', async () => {
      const { id = '' } = await app.queues.add('mails-a', 'kept', { to: 'ann', token: 't' }, { delay: 60_000 })
      const shown = { to: 'ann', token: '[redacted]' }
      const payload = async (query: string, key?: string) => (await get(`/api/jobs/${id}${query}`, key)).body.payload
      assert.deepEqual([await payload(''), await payload('?include=payload')], [shown, shown])
      assert.deepEqual([await payload('?include=none'), await payload('?include=')], [null, null])
      assert.equal(await payload('', keys.readA), null)
      assert.equal((await get(`/api/jobs/${id}?include=payload`, keys.readA)).status, 403)
      assert.equal((await get(`/api/jobs/${id}?include=all`)).status, 400)
    })

    it('show when a job that waits for a retry becomes ready', async () => {
      const before = Date.now()
      const backoff = { type: 'fixed', delay: 60_000 }
      const { id = '' } = await app.queues.add('mails-a', 'x', { bad: true }, { attempts: 2, backoff })
      await eventually('it waits for its retry', async () => (await app.queues.job('mails-a', id))?.state === 'delayed')
      const { createdAt, readyAt } = (await get(`/api/jobs/${id}`)).body
      const due = Date.parse(readyAt)
      assert.ok(due >= before + 60_000 && due <= Date.now() + 60_000 && due > Date.parse(createdAt) + 59_000)
      const listed = (await get('/api/jobs/delayed?queue=mails-a')).body.jobs
      assert.equal(listed.find((job: { readonly id: string }) => job.id === id).readyAt, readyAt)
    })

    it('show their log from either end, with what was dropped', async () => {
      const worker = app.queues.worker('mails-b', async (job) => {
        if (job.name === 'logs') for (let n = 0; n < 5; n++) await job.log(`line ${n}`)
      })
      const { id = '' } = await app.queues.add('mails-b', 'logs', {})
      while ((await once(worker, 'completed'))[0].id !== id);
      await worker.close()
      const read = async (query: string) => (await get(`/api/jobs/${id}/logs${query}`)).body
      const whole = { count: 5, dropped: 0, ended: true }
      assert.deepEqual(await read(''), { ...whole, offset: 0, logs: [0, 1, 2, 3, 4].map((n) => `line ${n}`) })
      assert.deepEqual(await read('?offset=-2&limit=1'), { ...whole, offset: 3, logs: ['line 3'] })
      assert.deepEqual(await read('?offset=4'), { ...whole, offset: 4, logs: ['line 4'] })
      for (const wrong of ['?limit=0', '?limit=1001', '?offset=x', '?offset=1.5', '?page=2']) {
        assert.equal((await get(`/api/jobs/${id}/logs${wrong}`)).status, 400, wrong)
      }
      assert.equal((await get(`/api/jobs/${id}/logs`, keys.readAll)).status, 403)
    })
  })
}
