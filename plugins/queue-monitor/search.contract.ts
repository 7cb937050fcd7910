import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JobDetails } from './contract.js'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'

const readsPayloads = 'key-that-reads-payloads-of-c'

/** Searching jobs by declared data fields, for each queue store. */
export function searchContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`the search by fields on ${title}`, () => {
    let app: MonitoredApp
    let [first, failed, other] = ['', '', '']
    const search = async (q: string, more = '', key?: string) => {
      const { body, status } = await app.call('GET', `/api/jobs?q=${encodeURIComponent(q)}${more}`, key === undefined ? {} : { key })
      const jobs = status === 200 ? (body.jobs as JobDetails[]).map(({ id, queue }) => `${queue}:${id}`) : undefined
      return { status, body, jobs }
    }

    before(async () => {
      const apiKeys = {
        [readsPayloads]: { permissions: ['read', 'payload:read'], queues: ['mails-c'] },
        [keys.readAll]: { permissions: ['read'], queues: ['*'] },
      }
      app = await monitoredApp(env(), { apiKeys })
      const { queues } = app
      const data = { customer: { id: 'Ann 7', apiKey: 'sk-1' }, apiKey: 'sk-1' }
      first = (await queues.add('mails-b', 'welcome', data)).id ?? ''
      failed = (await queues.add('mails-b', 'invoice', data)).id ?? ''
      await queues.fail('mails-b', failed, 'mailbox is full')
      other = (await queues.add('mails-c', 'invoice', data, { delay: 3_600_000 })).id ?? ''
      await queues.add('mails-c', 'invoice', { customer: { id: 'Bob' } })
    })
    after(() => app.host.stop())

    it('finds jobs by exact value in all queues that declare the field, and reports the coverage', async () => {
      const { body, jobs } = await search('data.customer.id:"Ann 7"')
      assert.deepEqual(jobs, [`mails-b:${failed}`, `mails-b:${first}`, `mails-c:${other}`])
      const { since, ...searched } = body.searched
      assert.deepEqual(searched, { jobs: 3, of: 3, complete: true, queues: 2, fields: ['customer.id'] })
      assert.ok(app.queues.backend === 'redis' ? Date.parse(since) <= Date.now() : since === null)
      assert.ok((body.jobs as JobDetails[]).every(({ payload }) => payload === null))
      assert.deepEqual((await search('data.customer.id:"ann 7"')).jobs, [])
      assert.deepEqual((await search('data.customer.id:Bob', '&queue=mails-b')).jobs, [])
    })

    it('filters by queue, state, words and limit', async () => {
      const ann = 'data.customer.id:"Ann 7"'
      assert.deepEqual((await search(ann, '&queue=mails-c')).jobs, [`mails-c:${other}`])
      assert.deepEqual((await search(ann, '&status=failed')).jobs, [`mails-b:${failed}`])
      assert.deepEqual((await search(ann, '&status=delayed')).jobs, [`mails-c:${other}`])
      assert.deepEqual((await search(`${ann} name:welcome`)).jobs, [`mails-b:${first}`])
      assert.deepEqual((await search(`error:mailbox ${ann}`)).jobs, [`mails-b:${failed}`])
      assert.deepEqual((await search(ann, '&limit=1')).jobs, [`mails-b:${failed}`])
    })

    it('rejects undeclared fields, incomplete terms and redacted fields', async () => {
      const problems = [
        ['data.customer.name:x', /declares data\.customer\.name as searchable; declared fields: .*data\.customer\.id \(mails-b\)/],
        ['data.apiKey:sk-1', /none of the searched queues declares data\.apiKey/],
        ['data.customer.id:', /has an empty term/],
        ['data.to:a data.to:b', /data\.to twice/],
      ] as const
      for (const [q, message] of problems) {
        const { body, status } = await search(q)
        assert.deepEqual([status, body.code], [400, 'INVALID_JOB_FILTER'], q)
        assert.match(body.message, message)
      }
      const { body } = await app.call('GET', '/api/queue/mails-b/fields')
      assert.deepEqual(body, { queue: 'mails-b', fields: ['customer.id'] })
    })

    it('reveals nothing about payloads without payload:read, or about queues outside the scope of a key', async () => {
      const q = 'data.customer.id:"Ann 7"'
      const refused = await search(q, '', keys.readAll)
      assert.deepEqual([refused.status, refused.body.code], [403, 'MONITOR_FORBIDDEN'])
      const own = await search(q, '', readsPayloads)
      assert.deepEqual([own.jobs, own.body.searched.of], [[`mails-c:${other}`], 1])
      const hidden = await search('data.to:x', '', readsPayloads)
      assert.equal(hidden.status, 400)
      assert.doesNotMatch(hidden.body.message, /mails-[ab]/)
      assert.equal((await app.call('GET', '/api/queue/mails-b/fields', { key: readsPayloads })).status, 404)
    })
  })
}
