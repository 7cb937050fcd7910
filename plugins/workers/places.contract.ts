import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { workers, workersService } from './index.js'

interface Place {
  readonly driver: string
  readonly connection?: string
  readonly table?: string
  readonly keyPrefix?: string
}

/** Workers whose records are in another place than that of the settings. @param several whether processes share the stores. */
export function placesContract(title: string, env: Readonly<Record<string, string>>, several: boolean): void {
  const run = randomUUID().slice(0, 8)
  const places: readonly (readonly [title: string, place: Place, creates: boolean])[] = [
    ['another table', { driver: 'db', table: `other_${run}` }, true],
    ['another connection', { driver: 'db', connection: 'second' }, true],
    ['another key prefix', { driver: 'kvstore', keyPrefix: `other-${run}` }, true],
  ]
  describe(`workers in other places on ${title}`, { timeout: 60_000 }, () => {
    const boot = async (t: TestContext, name: string, rootDir: string, driver: string) => {
      const host = await createTestHost({
        plugins: [
          database({ connections: { second: { driver: 'sqlite', file: join(rootDir, 'second.db') } } }),
          kv(),
          cluster(),
          queues(),
          ops(),
          workers(),
        ],
        rootDir,
        dataDir: join(rootDir, 'data'),
        env: {
          ...env,
          WORKER_AUTO_START: 'true',
          WORKER_PERSISTENCE_DRIVER: driver,
          WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
          WORKER_PERSISTENCE_TABLE: name.replaceAll('-', '_'),
          CLUSTER_NAME: name,
        },
      })
      t.after(() => host.stop())
      return { host, service: host.service(workersService) }
    }
    for (const [where, persistence, creates] of places) {
      it(`are created in ${where} over HTTP, and found by the next boot`, async (t) => {
        const name = `placed-${randomUUID().slice(0, 8)}`
        const rootDir = await mkdtemp(join(tmpdir(), 'zin-places-'))
        t.after(() => rm(rootDir, { recursive: true, force: true }))
        await writeProcessors(rootDir, { 'ok.mjs': 'export default () => 1' })
        const first = await boot(t, name, rootDir, persistence.driver)
        const record = { name, queueName: name, processor: 'ok.mjs', infrastructure: { persistence } }

        // The caller may be refused before anything is created.
        const asked: boolean[] = []
        const mayOpen = (created: boolean): never => {
          asked.push(created)
          throw new Error('it may not')
        }
        await assert.rejects(first.service.create(record as never, { places: 'configured', mayOpen }), /it may not/)
        await assert.rejects(first.service.create(record as never, { places: 'configured' }), { code: 'INVALID_PERSISTENCE_CONFIG' })
        assert.deepEqual([asked, (await first.service.list()).pagination.total], [[creates], 0])

        const headers = { 'x-requested-with': 'test' }
        const body = { ...record, infrastructure: { persistence: { driver: 'db', connection: 'nowhere' } } }
        const wrong = await first.host.inject({ method: 'POST', path: '/api/workers', headers, body })
        assert.deepEqual([wrong.status, wrong.body.code], [400, 'INVALID_PERSISTENCE_CONFIG'])
        const answer = await first.host.inject({ method: 'POST', path: '/api/workers', headers, body: record })
        assert.deepEqual([answer.status, answer.body.worker?.state], [201, 'running'], answer.text)
        assert.deepEqual(answer.body.worker.infrastructure.persistence, persistence)
        if (several) {
          const other = await boot(t, name, rootDir, persistence.driver)
          await eventually(
            'both run it',
            async () => (await other.service.nodesOf(name)).filter(({ state }) => state === 'running').length === 2,
          )
          await other.host.stop()
        }
        await first.host.stop()

        const next = await boot(t, name, rootDir, persistence.driver)
        await eventually('it runs', async () => (await next.service.get(name)).state === 'running')
        assert.equal((await next.service.list()).pagination.total, 1)
        await next.service.remove(name)
        assert.equal((await next.service.list()).pagination.total, 0)
      })
    }
  })
}
