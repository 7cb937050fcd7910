import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { kvService } from 'zin/plugins/kv'
import { queuesService } from 'zin/plugins/queues'
import type { ApiHost } from './testing/api-host.js'

const yearly = { pattern: '0 0 1 1 *' }

/** The schedules of a worker that is removed or moved to another queue. */
export function schedulesContract(api: () => ApiHost): void {
  describe('the schedules of a worker', () => {
    let count = 0
    const create = async (more: object = {}): Promise<{ readonly name: string; readonly path: string }> => {
      const name = `planned-${++count}-${api().run}`
      await api().service.create({ name, queueName: name, processor: 'job.mjs', autoStart: false, ...more })
      return { name, path: `/api/workers/${name}` }
    }
    const schedulers = async (queue: string): Promise<readonly string[]> => {
      const found = await api().host.service(queuesService).queue(queue).getJobSchedulers(0, -1, true)
      return found.map(({ key }) => key).sort()
    }

    it('are not recorded as changed by a request that changes nothing', async () => {
      const { name, path } = await create()
      const recorded = () =>
        api()
          .host.recorded('onWorkerChange')
          .map(([change]) => change as { readonly action: string; readonly worker: string })
          .filter((change) => change.action === 'schedule.put' && change.worker === name).length
      const put = (more: object = {}) =>
        api().call('PUT', `${path}/schedules/a`, { ...yearly, limit: 5, overlap: 'queue', data: { n: 1 }, ...more })
      const first = await put()
      assert.deepEqual([first.status, first.body.schedule?.overlap, first.body.schedule?.catchUp], [200, 'queue', 'one'], first.text)
      const again = await put()
      assert.deepEqual([again.status, again.body, recorded()], [200, first.body, 1])
      assert.equal((await put({ data: { n: 2 } })).status, 200)
      assert.equal((await put({ data: { n: 2 }, catchUp: 'all' })).body.schedule?.catchUp, 'all')
      assert.equal(recorded(), 3)
    })

    it('are removed with it, and those of others on its queue stay', async () => {
      const { name, path } = await create()
      const other = await create({ queueName: name })
      for (const id of ['a', 'b']) {
        for (const worker of [path, other.path]) assert.equal((await api().call('PUT', `${worker}/schedules/${id}`, yearly)).status, 200)
      }
      assert.equal((await api().call('DELETE', path)).status, 200)
      assert.deepEqual(await schedulers(name), [`${other.name}~a`, `${other.name}~b`])
      const { counts } = (await api().call('GET', `${other.path}/metrics`)).body.metrics
      assert.equal(counts.delayed, 2)
    })

    /** A worker in a separate store. `beforeWrite` is called before each write to it. */
    const createApart = (beforeWrite: () => Promise<unknown> | undefined) => {
      const client = new Proxy(api().host.service(kvService), {
        get(target, key) {
          if (key === 'driver') return 'database'
          const value = target[key as keyof typeof target]
          if (typeof value !== 'function') return value
          const call = value.bind(target) as (...args: unknown[]) => unknown
          if (key !== 'set') return call
          return async (...args: unknown[]) => {
            await beforeWrite()
            return call(...args)
          }
        },
      })
      return create({ infrastructure: { persistence: { driver: 'kvstore', keyPrefix: `planned-${count}-${api().run}`, client } } })
    }

    it('are removed before it is, so that a failed removal can be repeated', async () => {
      let down = false
      const { name, path } = await createApart(() => (down ? Promise.reject(new Error('the power is cut')) : undefined))
      await api().call('PUT', `${path}/schedules/a`, yearly)
      down = true
      assert.ok((await api().call('DELETE', path)).status >= 500)
      assert.deepEqual(await schedulers(name), [])
      down = false
      assert.equal((await api().call('GET', path)).status, 200)
    })

    it('move with it when one is added right before its queue changes', async () => {
      let add: (() => Promise<unknown>) | undefined
      const { name, path } = await createApart(() => {
        const work = add
        add = undefined
        return work?.()
      })
      const spec = {
        ...yearly,
        tz: 'Europe/Berlin',
        endDate: '2090-01-01T00:00:00.000Z',
        limit: 7,
        data: { n: 1 },
        options: { attempts: 4 },
      }
      const added: unknown[] = []
      add = async () => added.push((await api().call('PUT', `${path}/schedules/late`, spec)).body.schedule)
      const moved = await api().call('PUT', path, { queueName: `${name}-b` })
      assert.deepEqual([moved.status, moved.body.worker?.queueName], [200, `${name}-b`], moved.text)
      assert.deepEqual([await schedulers(name), await schedulers(`${name}-b`)], [[], [`${name}~late`]])
      assert.deepEqual((await api().call('GET', `${path}/schedules`)).body.schedules, added)
      const [job] = await api().host.service(queuesService).queue(`${name}-b`).getDelayed()
      assert.deepEqual([job?.opts.attempts, JSON.stringify(job?.data).includes('"n":1')], [4, true])
    })

    it('move with it when a request that failed to move them is repeated', async () => {
      let add: (() => Promise<unknown>) | undefined
      const { name, path } = await createApart(() => {
        const work = add
        add = undefined
        return work?.()
      })
      const { queue } = api().host.service(queuesService)
      const old = queue(name)
      const read = old.getJobSchedulers.bind(old)
      let away = false
      old.getJobSchedulers = (...args) => (away ? Promise.reject(new Error('the power is cut')) : read(...args))
      add = async () => {
        await api().call('PUT', `${path}/schedules/late`, yearly)
        away = true
      }
      const failed = await api().call('PUT', path, { queueName: `${name}-b` })
      assert.ok(failed.status >= 500, failed.text)
      away = false
      assert.deepEqual([await schedulers(name), await schedulers(`${name}-b`)], [[`${name}~late`], []])
      const repeated = await api().call('PUT', path, { queueName: `${name}-b` })
      assert.equal(repeated.status, 200, repeated.text)
      assert.deepEqual([await schedulers(name), await schedulers(`${name}-b`)], [[], [`${name}~late`]])
      assert.equal((await api().call('DELETE', path)).status, 200)
      assert.deepEqual(await schedulers(`${name}-b`), [])
    })

    it('prevent a change of its queue until they are removed', async () => {
      const { name, path } = await create()
      await api().call('PUT', `${path}/schedules/a`, yearly)
      const refused = await api().call('PUT', path, { queueName: `${name}-b`, concurrency: 3 })
      assert.deepEqual([refused.status, refused.body.code], [409, 'WORKER_HAS_SCHEDULES'])
      const { worker } = (await api().call('GET', path)).body
      assert.deepEqual([worker.queueName, worker.concurrency, worker.generation], [name, 5, 1])
      assert.equal((await api().call('PUT', path, { queueName: name })).status, 200)
      await api().call('DELETE', `${path}/schedules/a`)
      assert.equal((await api().call('PUT', path, { queueName: `${name}-b` })).body.worker.queueName, `${name}-b`)
    })

    for (const [what, method, body, status, code] of [
      ['removed', 'DELETE', undefined, 404, 'WORKER_NOT_FOUND'],
      ['given another queue', 'PUT', { queueName: 'elsewhere' }, 409, 'WORKER_CHANGED'],
    ] as const) {
      it(`are not left behind when it is ${what} while one is added`, async () => {
        const { name, path } = await create()
        api().meanwhile(() => api().call(method, path, body))
        const answer = await api().call('PUT', `${path}/schedules/late`, yearly)
        assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text)
        assert.deepEqual(await schedulers(name), [])
      })
    }
  })
}
