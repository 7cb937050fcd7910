import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { databaseService } from 'zin/plugins/database'
import { queuesService } from 'zin/plugins/queues'
import { eventually } from '../../scripts/testing/eventually.js'
import { type ApiHost, type Backend, startApi } from './testing/api-host.js'

/** Options of the jobs of workers over HTTP and in code: ids, deduplication, backoff, rate limits, and adding within a transaction. */
export function workerJobOptionsContract(title: string, backend: Backend): void {
  describe(`options of the jobs of workers on ${title}`, () => {
    let api: ApiHost
    let count = 0
    const made = async (more: object = {}): Promise<string> => {
      const name = `options-${api.run}-${++count}`
      const { status, text } = await api.call('POST', '/api/workers', {
        name,
        queueName: name,
        processor: 'job.mjs',
        autoStart: false,
        ...more,
      })
      assert.equal(status, 201, text)
      return name
    }
    const add = (name: string, options: object, data: unknown = null, more: object = {}) =>
      api.call('POST', `/api/workers/${name}/jobs`, { data, options, ...more })

    before(async () => {
      api = await startApi(backend, { DB_POOL_LIMIT: '1' })
    })
    after(() => api?.stop())

    it('say that a repeated jobId was not added, in both answers, and in a flow', async () => {
      const name = await made()
      const first = await add(name, { jobId: 'order-1' })
      assert.deepEqual(
        [first.status, first.body.deduplicated, first.body.job],
        [202, false, { id: 'order-1', queue: name, deduplicated: false }],
      )
      const again = await add(name, { jobId: 'order-1' })
      assert.deepEqual([again.status, again.body.deduplicated, again.body.job.id], [202, true, 'order-1'])
      assert.deepEqual(await api.service.enqueue(name, null, { jobId: 'order-1' }), { id: 'order-1', queue: name, deduplicated: true })
      const flow = () => add(name, { jobId: 'flow-1' }, null, { children: [{ worker: name }] })
      assert.deepEqual([(await flow()).body.deduplicated, (await flow()).body.deduplicated], [false, true])
    })

    it('have ids that are unique over the queues of the app', async () => {
      const [one, other] = [await made(), await made()]
      const ids = [(await add(one, {})).body.job.id, (await add(other, {})).body.job.id, (await add(one, {})).body.job.id]
      assert.deepEqual(ids.toSorted(), ids)
      assert.equal(new Set(ids).size, 3)
    })

    it('replace the data of the waiting job with keep-latest, and run it once', async () => {
      const name = await made()
      const deduplication = { id: 'd', mode: 'keep-latest' }
      const first = await add(name, { deduplication }, 1)
      const second = await add(name, { deduplication }, 2)
      assert.deepEqual([second.body.deduplicated, second.body.job.id], [true, first.body.job.id])
      await api.service.start(name)
      await eventually('it completes', async () => (await api.service.job(name, first.body.job.id)).status === 'completed')
      assert.equal((await api.service.job(name, first.body.job.id)).result, 2)
      assert.equal((await add(name, { deduplication }, 3)).body.deduplicated, false)
    })

    it('are refused with 400 and stored nowhere when a backoff, a deduplication or a jobId is wrong', async () => {
      const name = await made()
      const backoff = { type: 'exponential', delay: 1000 }
      const wrong = [
        ...[
          { max: 0 },
          { max: 1.5 },
          { max: 31_536_000_001 },
          { max: '1' },
          { jitter: -0.1 },
          { jitter: 1.1 },
          { jitter: null },
          { base: 2 },
        ].map((more) => ({ backoff: { ...backoff, ...more } })),
        ...[{ mode: 'never' }, { mode: 'ttl' }, { mode: 'debounce' }, { mode: 'keep-latest', ttl: 1 }, { mode: 'until-done', ttl: 1 }].map(
          (more) => ({
            deduplication: { id: 'd', ...more },
          }),
        ),
        { deduplication: { id: 'd', mode: 'debounce', ttl: 5 }, delay: 5 },
        ...['NaN', '12', '-0'].map((jobId) => ({ jobId })),
      ]
      for (const options of wrong) {
        const { body, status } = await add(name, options)
        assert.deepEqual([status, body.code], [400, 'INVALID_JOB_OPTIONS'], JSON.stringify(options))
      }
      const { waiting, delayed } = await api.host.service(queuesService).counts(name)
      assert.deepEqual([waiting, delayed], [0, 0])
      for (const options of [{ backoff: { ...backoff, max: 1, jitter: 1 } }, { deduplication: { id: 'd', mode: 'debounce', ttl: 5 } }]) {
        assert.equal((await add(name, options)).status, 202)
      }
      const defaults = { jobOptions: { backoff: { ...backoff, max: 60_000, jitter: 0.5 } } }
      assert.deepEqual((await api.call('PUT', `/api/workers/${name}`, defaults)).body.worker?.jobOptions, defaults.jobOptions)
    })

    it('run at the rate limit of any worker of their queue', async () => {
      const limited = await made({ rateLimit: { max: 2, duration: 86_400_000 } })
      const other = await made({ queueName: limited })
      const jobs = await Promise.all(Array.from({ length: 6 }, () => api.service.enqueue(limited, null)))
      // Only the worker without a limit runs.
      await api.service.start(other)
      const queues = api.host.service(queuesService)
      await eventually('two have run', async () => (await queues.counts(limited)).completed === 2)
      await api.service.start(limited)
      assert.equal((await queues.counts(limited)).waiting, jobs.length - 2)
      await api.service.update(limited, { rateLimit: null })
      await queues.change(() =>
        queues
          .queue(limited)
          .removeRateLimitKey()
          .then(() => undefined),
      )
      await eventually('the others run without the limit', async () => (await queues.counts(limited)).completed === jobs.length)
    })

    it('are added at once within a transaction that holds the only connection of the database', async () => {
      const name = await made()
      const database = api.host.service(databaseService)
      // A wait for the transaction would end with a 503 after 5 s.
      const added = await database.transaction(async (tx) => {
        await tx.selectNoFrom((eb) => eb.lit(1).as('one')).execute()
        const jobs = [await api.service.enqueue(name, 1), await api.service.enqueue(name, 2)]
        return [...jobs, await api.service.enqueueFlow({ worker: name, children: [{ worker: name }] })]
      })
      assert.ok(added.every(({ id }) => id !== ''))
    })
  })
}
