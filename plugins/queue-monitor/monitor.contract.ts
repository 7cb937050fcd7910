import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { eventually } from '../../scripts/testing/eventually.js'
import type { JobDetails } from './contract.js'
import { basic, keys, type MonitoredApp, monitoredApp } from './testing/app.js'

const detailKeys = [
  'id',
  'queue',
  'status',
  'payload',
  'attempts',
  'maxAttempts',
  'createdAt',
  'startedAt',
  'completedAt',
  'failedAt',
  'error',
  'processingTime',
]
const entryKeys = ['size', 'active', 'completed', 'failed', 'averageProcessingTime']
const statsKeys = ['totalQueues', 'totalJobs', 'activeJobs', 'completedJobs', 'failedJobs', 'averageProcessingTime', 'throughput', 'queues']
const hostile = '<img src=x onerror=alert(1)>'

/** What the monitor shows and to whom, for each queue store. */
export function monitorContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`the queue monitor on ${title}`, () => {
    let app: MonitoredApp
    let good: string
    let bad: string
    const get = (path: string, key?: string) => app.call('GET', path, key === undefined ? {} : { key })

    before(async () => {
      app = await monitoredApp(env())
      const { queues } = app
      good = (await queues.add('mails-a', 'welcome', { to: 'a@example.com', nested: [{ apiKey: 'sk-1', n: 1 }] })).id ?? ''
      bad = (await queues.add('mails-a', hostile, { bad: true, html: hostile })).id ?? ''
      for (let n = 0; n < 5; n++) await queues.add('mails-b', 'idle', { n })
      await queues.add('mails-b', 'later', {}, { delay: 3_600_000, jobId: 'later-1' })
      await queues.add('mails-b', 'own', {}, { jobId: 'shared' })
      await queues.add('mails-c', 'own', {}, { jobId: 'shared' })
      await eventually('both jobs end', async () => {
        const { completed, failed } = await queues.counts('mails-a')
        return completed === 1 && failed === 1
      })
    })
    after(() => app.host.stop())

    it('returns the statistics of the specification, with run times of the workers', async () => {
      await eventually('the statistics follow', async () => {
        const { body } = await get('/api/queue/stats')
        return body.completedJobs === 1 && body.queues['mails-a']?.attempts === 2 && body.queues['mails-b']?.size === 7
      })
      const { body, status } = await get('/api/queue/stats')
      assert.equal(status, 200)
      for (const key of statsKeys) assert.ok(key in body, key)
      const { totalQueues, totalJobs, activeJobs, completedJobs, failedJobs } = body
      assert.deepEqual([totalQueues, totalJobs, activeJobs, completedJobs, failedJobs], [3, 10, 0, 1, 1])
      const [a, b] = [body.queues['mails-a'], body.queues['mails-b']]
      assert.deepEqual([a.completed, a.failed, a.failureRate, a.kept], [1, 1, 0.5, 2])
      assert.ok(a.processingTime.p50 > 0 && a.processingTime.p99 >= a.processingTime.p50)
      assert.deepEqual([b.size, b.waiting, b.delayed, b.processingTime, b.averageProcessingTime], [7, 6, 1, null, 0])
      assert.ok(b.oldestWaitingMs >= 0 && body.oldestWaitingMs >= b.oldestWaitingMs)
    })

    it('returns the entry and the history of a queue, and 404 for one that does not exist', async () => {
      const { body } = await get('/api/queue/mails-a/stats')
      for (const key of entryKeys) assert.equal(typeof body[key], 'number', key)
      await eventually('the history has the attempts', async () => {
        const { body: history } = await get('/api/queue/mails-a/history')
        return (
          history.points.reduce(
            (sum: number, { completed, failed }: Record<string, number>) => sum + (completed ?? 0) + (failed ?? 0),
            0,
          ) === 2
        )
      })
      for (const tier of ['hour', 'day']) {
        const { points } = (await get(`/api/queue/mails-a/history?tier=${tier}`)).body
        assert.equal(points.at(-1).completed, 1)
      }
      for (const name of ['nobody', 'a%3Ab', '..%2Fx', '__proto__', 'constructor']) {
        const missing = await get(`/api/queue/${name}/stats`)
        assert.deepEqual([missing.status, missing.body.code], [404, 'QUEUE_NOT_FOUND'], name)
      }
      assert.ok(!(await app.queues.names()).includes('nobody'))
    })

    it('returns job details in the shape of the specification', async () => {
      const done = (await get(`/api/jobs/mails-a:${good}?include=none`)).body as JobDetails
      for (const key of detailKeys) assert.ok(key in done, key)
      assert.deepEqual([done.id, done.queue, done.status, done.payload, done.attempts], [good, 'mails-a', 'completed', null, 1])
      assert.ok(Date.parse(done.createdAt) <= Date.parse(done.completedAt ?? '') && done.failedAt === null && done.error === null)
      assert.ok(done.processingTime !== null && done.processingTime >= 0)
      const failed = (await get(`/api/jobs/${bad}?queue=mails-a`)).body as JobDetails
      assert.deepEqual([failed.status, failed.error, failed.name, failed.completedAt], ['failed', 'no such mailbox', hostile, null])
      assert.match(failed.stacktrace?.[0] ?? '', /no such mailbox/)
      assert.equal(((await get('/api/jobs/later-1')).body as JobDetails).status, 'waiting')
    })

    it('lists jobs by state across all queues, with pagination', async () => {
      const failed = (await get('/api/jobs/failed')).body
      assert.deepEqual(
        failed.jobs.map(({ id }: JobDetails) => id),
        [bad],
      )
      assert.deepEqual(failed.pagination, { page: 1, limit: 20, total: 1, totalPages: 1 })
      assert.deepEqual((await get('/api/jobs/active')).body.jobs, [])
      const pages = await Promise.all([1, 2, 3].map((page) => get(`/api/jobs/waiting?limit=3&page=${page}`)))
      const waiting = pages.flatMap(({ body }) => body.jobs.map(({ queue, name }: JobDetails) => `${queue} ${name}`))
      assert.deepEqual(waiting, [...Array(5).fill('mails-b idle'), 'mails-b own', 'mails-c own'])
      assert.equal((await get('/api/jobs/delayed?queue=mails-b')).body.jobs[0].id, 'later-1')
      assert.equal((await get('/api/jobs/completed?queue=nobody')).body.code, 'QUEUE_NOT_FOUND')
      for (const query of ['page=0', 'limit=101', 'limit=0', 'include=all', 'x=1']) {
        assert.equal((await get(`/api/jobs/failed?${query}`)).status, 400, query)
      }
    })

    it('reports an ambiguous id when two queues have a job with it', async () => {
      const { body, status } = await get('/api/jobs/shared')
      assert.deepEqual([status, body.code], [409, 'AMBIGUOUS_JOB_ID'])
      assert.deepEqual(body.details, { candidates: ['mails-b', 'mails-c'].map((queue) => ({ id: 'shared', queue })) })
      assert.equal((await get('/api/jobs/shared?queue=mails-c')).body.queue, 'mails-c')
      assert.equal((await get('/api/jobs/mails-b:shared')).body.queue, 'mails-b')
      for (const id of ['none', '%00', 'meta', 'mails-b:', ':x', '%F0%9F%8E%88']) {
        assert.equal((await get(`/api/jobs/${id}`)).body.code, 'JOB_NOT_FOUND', id)
      }
    })

    it('shows payloads only on request, redacted, and truncates long ones', async () => {
      const { payload } = (await get(`/api/jobs/mails-a:${good}?include=payload`)).body
      assert.deepEqual(payload, { to: 'a@example.com', nested: [{ apiKey: '[redacted]', n: 1 }] })
      const listed = (await get('/api/jobs/failed?include=payload')).body.jobs[0]
      assert.deepEqual(listed.payload, { bad: true, html: hostile })
      const big = await app.queues.add('mails-b', 'big', { text: 'x'.repeat(100_000), password: 'hunter2' })
      const cut = (await get(`/api/jobs/mails-b:${big.id}?include=payload`)).body
      assert.deepEqual([cut.payloadTruncated, cut.payload.length, cut.payloadBytes > 100_000], [true, 65_536, true])
      const whole = await get(`/api/jobs/${big.id}/payload?queue=mails-b`)
      assert.match(String(whole.headers['content-disposition']), /^attachment; filename="mails-b-\w+\.json"$/)
      assert.doesNotMatch(JSON.stringify(whole.body), /hunter2/)
      await big.remove()
    })

    it('lists large payloads up to a limit per page, and marks those that are left out', async () => {
      for (let i = 0; i < 12; i++) await app.queues.add('mails-large', 'large', { text: 'x'.repeat(900_000) })
      const { jobs } = (await get('/api/jobs/waiting?queue=mails-large&limit=12&include=payload')).body
      const shown = jobs.filter((job: { readonly payload: unknown }) => job.payload !== null)
      assert.deepEqual([jobs.length, shown.length], [12, 10])
      assert.ok(jobs.every((job: { readonly payloadTruncated: boolean }) => job.payloadTruncated))
      const listed = (await get('/api/jobs/waiting?queue=mails-large&limit=12')).body.jobs
      assert.ok(listed.every((job: { readonly payload: unknown; readonly name: string }) => job.payload === null && job.name === 'large'))
      await app.queues.queue('mails-large').obliterate({ force: true })
    })

    it('searches by id, name and error, and reports the coverage', async () => {
      const byId = (await get('/api/jobs?q=later-1')).body
      assert.equal(byId.jobs[0].id, 'later-1')
      const byError = (await get('/api/jobs?q=error:mailbox')).body
      assert.deepEqual([byError.jobs.length, byError.jobs[0].id, byError.searched.complete], [1, bad, true])
      const byName = (await get('/api/jobs?q=name:idle&limit=2')).body
      assert.deepEqual([byName.jobs.length, byName.searched.complete], [2, false])
      assert.equal((await get(`/api/jobs?q=${encodeURIComponent(hostile)}`)).body.jobs[0].name, hostile)
      assert.deepEqual((await get('/api/jobs?q=nothing-like-it')).body.jobs, [])
      for (const q of ['', 'name:', '%20', `${'x'.repeat(201)}`]) assert.equal((await get(`/api/jobs?q=${q}`)).status, 400, q)
    })

    it('shows nothing about other queues to a key for one queue', async () => {
      const key = keys.readA
      const { body } = await get('/api/queue/stats', key)
      assert.deepEqual([Object.keys(body.queues), body.totalQueues, body.totalJobs], [['mails-a'], 1, 2])
      const hidden = [
        '/api/queue/mails-b/stats',
        '/api/queue/mails-b/history',
        '/api/jobs/mails-b:shared',
        '/api/jobs/shared',
        '/api/jobs/shared?queue=mails-b',
        '/api/jobs/later-1',
        '/api/jobs/later-1/payload',
        '/api/jobs/later-1/logs',
        '/api/jobs/waiting?queue=mails-b',
        '/api/jobs?q=shared&queue=mails-b',
      ]
      for (const path of hidden) assert.equal((await get(path, key)).status, 404, path)
      assert.deepEqual((await get('/api/jobs/waiting', key)).body.pagination.total, 0)
      for (const q of ['shared', 'own', 'later-1']) assert.deepEqual((await get(`/api/jobs?q=${q}`, key)).body.jobs, [])
    })

    it('hides payloads and logs from keys without payload:read', async () => {
      for (const path of [
        `/api/jobs/mails-a:${good}?include=payload`,
        '/api/jobs/failed?include=payload',
        `/api/jobs/mails-a:${good}/payload`,
      ]) {
        assert.equal((await get(path, keys.readA)).body.code, 'MONITOR_FORBIDDEN', path)
      }
      assert.equal((await get(`/api/jobs/mails-a:${good}?include=payload`, keys.adminA)).status, 200)
    })

    it('hides errors, stacks and the errors of attempts from keys without payload:read, and says so', async () => {
      const paths = [
        `/api/jobs/mails-a:${bad}`,
        '/api/jobs/failed?queue=mails-a',
        `/api/jobs/mails-a:${bad}/attempts`,
        `/api/jobs?q=${bad}`,
      ]
      for (const path of paths) {
        const [hidden, shown] = await Promise.all([get(path, keys.readA), get(path, keys.adminA)])
        assert.deepEqual([hidden.status, shown.status], [200, 200], path)
        assert.doesNotMatch(JSON.stringify(hidden.body), /no such mailbox/, path)
        assert.match(JSON.stringify(shown.body), /no such mailbox/, path)
      }
      const { error, stacktrace, withheld } = (await get(`/api/jobs/mails-a:${bad}`, keys.readA)).body
      assert.deepEqual([error, stacktrace, withheld], [null, [], true])
      assert.equal((await get('/api/jobs?q=error:mailbox', keys.readA)).body.code, 'MONITOR_FORBIDDEN')
      const { jobs, searched } = (await get('/api/jobs?q=mailbox', keys.readA)).body
      assert.deepEqual([jobs, searched.withoutErrors], [[], true])
      assert.equal((await get('/api/jobs?q=mailbox', keys.adminA)).body.searched.withoutErrors, undefined)
    })

    it('accepts basic auth, and rejects wrong credentials without revealing which part is wrong', async () => {
      const auth = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
      const as = (text: string, more: object = {}) => app.call('GET', '/api/queue/stats', { headers: { ...auth(text), ...more } })
      assert.equal((await as(`${basic.username}:${basic.password}`)).status, 200)
      const refused = await Promise.all([
        as('ann:wrong'),
        as('bob:a:password:with:colons'),
        as('ann'),
        get('/api/queue/stats', 'not-a-key'),
      ])
      for (const { body, status } of refused) assert.deepEqual([status, body], [401, refused[0]?.body])
      assert.doesNotMatch(app.host.logText(), /a:password|key-that/)
      const foreign = await as(`${basic.username}:${basic.password}`, { 'sec-fetch-site': 'cross-site' })
      assert.equal(foreign.body.code, 'MONITOR_FORBIDDEN')
      for (let n = 0; n < 10; n++) await as('ann:guess')
      const throttled = await as('ann:guess')
      assert.deepEqual([throttled.status, throttled.body.code], [429, 'MONITOR_AUTH_THROTTLED'])
      // Right credentials pass, whoever else guesses from the same network.
      assert.equal((await as(`${basic.username}:${basic.password}`)).status, 200)
      assert.equal((await get('/api/queue/stats', keys.readAll)).status, 200)
      for (const authorization of ['Basic -', 'Basic', 'basic \u00fc'])
        assert.equal((await app.call('GET', '/api/queue/stats', { headers: { authorization } })).status, 429, authorization)
    })
  })
}
