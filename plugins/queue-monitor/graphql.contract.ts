import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'

/** GraphQL and the statistics stream, for each queue store. */
export function graphqlContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`GraphQL and the stream of the queue monitor on ${title}`, () => {
    let app: MonitoredApp
    const ask = (query: unknown, variables: object = {}, key?: string) =>
      app.call('POST', '/graphql', { body: { query, variables }, ...(key === undefined ? {} : { key }) })

    before(async () => {
      app = await monitoredApp(env(), {}, {}, true)
      await app.queues.add('mails-b', 'idle', { secret: 's', n: 1 }, { jobId: 'one' })
      await app.queues.add('mails-c', 'idle', {}, { jobId: 'one' })
    })
    after(() => app.host.stop())

    it('returns queueStats with the fields of the specification', async () => {
      const { body, status } = await ask(
        '{ queueStats { totalQueues totalJobs activeJobs completedJobs failedJobs averageProcessingTime throughput queues { name size active completed failed } } }',
      )
      assert.equal(status, 200)
      const { queues, ...stats } = body.data.queueStats
      assert.deepEqual([stats.totalQueues, stats.totalJobs, stats.failedJobs], [3, 2, 0])
      assert.deepEqual(
        queues.find(({ name }: { name: string }) => name === 'mails-b'),
        { name: 'mails-b', size: 1, active: 0, completed: 0, failed: 0 },
      )
    })

    it('returns jobs, and errors with the codes of the routes', async () => {
      const query =
        'query ($id: String!) { job(id: $id, queue: "mails-b", payload: true) { id status payload } jobs(status: waiting, limit: 1) { jobs { queue } pagination { total } } }'
      const { data } = (await ask(query, { id: 'one' })).body
      assert.deepEqual(
        { ...data.job, payload: JSON.parse(data.job.payload) },
        { id: 'one', status: 'waiting', payload: { secret: '[redacted]', n: 1 } },
      )
      assert.deepEqual(data.jobs, { jobs: [{ queue: 'mails-b' }], pagination: { total: 2 } })
      const codes = [
        ['{ job(id: "one") { id } }', 'AMBIGUOUS_JOB_ID'],
        ['{ queue(name: "nobody") { size } }', 'QUEUE_NOT_FOUND'],
        ['{ jobs(status: failed, limit: 101) { jobs { id } } }', 'INVALID_JOB_FILTER'],
      ] as const
      for (const [text, code] of codes) assert.equal((await ask(text)).body.errors[0].extensions.code, code, text)
    })

    it('shows nothing about other queues to a key for one queue', async () => {
      const { body } = await ask('{ queueStats { totalQueues queues { name } } queue(name: "mails-b") { size } }', {}, keys.adminA)
      assert.equal(body.errors[0].extensions.code, 'QUEUE_NOT_FOUND')
      assert.deepEqual((await ask('{ queueStats { queues { name } } }', {}, keys.adminA)).body.data.queueStats.queues, [
        { name: 'mails-a' },
      ])
      assert.equal((await ask('{ job(id: "one", payload: true) { id } }', {}, keys.adminA)).body.errors[0].extensions.code, 'JOB_NOT_FOUND')
    })

    it('rejects requests beyond its limits and names the limit', async () => {
      const doubled = Array.from({ length: 20 }, (_, n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`).join(' ')
      const cases = [
        [`{ queueStats { ${'totalJobs '.repeat(1_001)} } }`, 'tokens', 1_000],
        [`{ a { b { c { d { e { f } } } } } }`, 'depth', 5],
        [`{ ${Array.from({ length: 16 }, (_, n) => `a${n}: queueStats { totalJobs }`).join(' ')} }`, 'aliases', 15],
        [`{ ...F0 } ${doubled} fragment F20 on Query { x: queueStats { totalJobs } }`, 'aliases', 15],
        [
          'query ($n: Int) { a: jobs(status: failed, limit: $n) { jobs { id } } b: jobs(status: failed, limit: 100) { jobs { id } } c: jobs(status: failed, limit: 100) { jobs { id } } d: queueStats { totalJobs } }',
          'cost',
          300,
        ],
      ] as const
      for (const [query, what, limit] of cases) {
        const { body, status } = await ask(query)
        assert.deepEqual([status, body.code, body.details], [400, 'GRAPHQL_LIMIT', { what, limit }], what)
      }
      for (const query of [
        '{',
        '{ nothing }',
        'mutation { x }',
        '{ ...A } fragment A on Query { ...A }',
        '',
        1,
        ['{ queueStats { totalJobs } }'],
      ]) {
        assert.equal((await ask(query)).status, 400, String(query))
      }
      assert.equal((await app.call('POST', '/graphql', { body: [{ query: '{ queueStats { totalJobs } }' }] })).status, 400)
      assert.equal((await ask(`{ queueStats { totalJobs } } # ${'x'.repeat(1_000_000)}`)).status, 413)
    })

    it('streams the statistics a key can see', async () => {
      const stream = async (key?: string): Promise<string> => {
        const headers = key === undefined ? {} : { 'x-api-key': key }
        const [response] = (await once(get(`${app.host.url}/api/queue/events`, { headers }), 'response')) as [IncomingMessage]
        assert.equal(response.statusCode, 200)
        let text = ''
        for await (const chunk of response) {
          text += String(chunk)
          if (/event: stats\ndata: .*\n\n/.test(text)) break
        }
        return text
      }
      assert.match(await stream(), /"mails-b":\{/)
      assert.doesNotMatch(await stream(keys.readA), /mails-[bc]/)
    })
  })
}
