import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ApiHost } from './testing/api-host.js'

/** Concurrent requests for one worker. */
export function concurrentContract(api: () => ApiHost): void {
  describe('concurrent requests', () => {
    const creation = (name: string): object => ({ name, queueName: name, processor: 'job.mjs', autoStart: false })
    /** Status and code of each response, in order. */
    const outcomes = async (requests: readonly ReturnType<ApiHost['call']>[]) =>
      (await Promise.all(requests)).map(({ status, body }) => `${status} ${body.code ?? ''}`.trim()).sort()
    const times = <T>(n: number, work: () => T): T[] => Array.from({ length: n }, work)

    it('create one worker per name', async () => {
      const name = `rivals-${api().run}`
      assert.deepEqual(await outcomes(times(5, () => api().call('POST', '/api/workers', creation(name)))), [
        '201',
        ...times(4, () => '409 WORKER_EXISTS'),
      ])
    })

    it('each change their own field of a worker', async () => {
      const name = `changed-${api().run}`
      await api().call('POST', '/api/workers', creation(name))
      const changes = {
        concurrency: 7,
        autoStart: true,
        rateLimit: { max: 3, duration: 1000 },
        features: { metrics: true },
        jobOptions: { attempts: 9 },
      }
      const requests = Object.entries(changes).map(([field, value]) => api().call('PUT', `/api/workers/${name}`, { [field]: value }))
      assert.deepEqual(
        await outcomes(requests),
        times(5, () => '200'),
      )
      const { worker } = (await api().call('GET', `/api/workers/${name}`)).body
      assert.equal(worker.generation, 6)
      for (const [field, value] of Object.entries(changes)) assert.deepEqual(worker[field], value)
    })

    it('remove a worker once, and the others get 404', async () => {
      const name = `removed-${api().run}`
      await api().call('POST', '/api/workers', creation(name))
      assert.deepEqual(await outcomes(times(5, () => api().call('DELETE', `/api/workers/${name}`))), [
        '200',
        ...times(4, () => '404 WORKER_NOT_FOUND'),
      ])
    })
  })
}
