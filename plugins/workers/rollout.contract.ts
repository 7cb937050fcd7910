import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { createTestHost } from 'zin/testing'
import { cleanUp } from '../../scripts/testing/clean-up.js'
import { eventually } from '../../scripts/testing/eventually.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

interface Backend {
  readonly env: Readonly<Record<string, string>>
  /** Record stores on which a reboot is tested. */
  readonly drivers: readonly string[]
}

/** A version that its health check refused. Names are unique per run, so stores may be shared. */
export function rolloutContract(title: string, { env, drivers }: Backend): void {
  const run = randomUUID().slice(0, 8)
  describe(`a version that was refused on ${title}`, () => {
    for (const driver of drivers) {
      it(`takes no jobs over changes, restarts and a reboot from ${driver}, until it is activated and healthy`, async (t) => {
        const name = `refused-${driver}-${run}`
        const rootDir = await mkdtemp(join(tmpdir(), 'zin-rollout-'))
        const atEnd = cleanUp(t)
        atEnd(() => rm(rootDir, { recursive: true, force: true }))
        await writeProcessors(rootDir, { 'one.mjs': "export default () => 'one'", 'two.mjs': "export default () => 'two'" })
        let healthy = false
        let [runs, done] = [signal(), signal<unknown>()]
        const boot = () =>
          createTestHost({
            plugins: [
              database(),
              kv(),
              cluster(),
              queues(),
              ops(),
              workers({ healthChecks: { [`${name}@2.0.0`]: () => ({ healthy, error: 'not today' }) } }),
              workerHealth(),
            ],
            hooks: {
              onWorkerStart: (worker) => (worker === name ? runs.fire() : undefined),
              onJobComplete: (worker, _job, result) => (worker === name ? done.fire(result) : undefined),
            },
            rootDir,
            dataDir: join(rootDir, 'data'),
            env: {
              ...env,
              WORKER_AUTO_START: 'true',
              WORKER_PERSISTENCE_DRIVER: driver,
              WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
              CLUSTER_NAME: name,
              WORKER_PERSISTENCE_TABLE: name.replaceAll('-', '_'),
            },
          })
        let host = await boot()
        atEnd(() => host.stop())
        let service = host.service(workersService)
        const answer = async () => {
          done = signal<unknown>()
          await service.enqueue(name, null)
          return done.promise
        }
        const call = async (method: string, path: string, body?: unknown) => {
          const answered = await host.inject({
            method,
            path: `/api/workers/${name}${path}`,
            headers: { 'x-requested-with': 'test' },
            ...(body === undefined ? {} : { body }),
          })
          return { status: answered.status, body: answered.body }
        }
        await service.create({ name, queueName: name, processor: 'one.mjs' })
        await service.registerVersion(name, { version: '2.0.0', processor: 'two.mjs' })
        const refused = await call('POST', '/versions/2.0.0/activate')
        assert.deepEqual([refused.status, refused.body.code], [409, 'VERSION_UNHEALTHY'])
        assert.match(refused.body.message, /not today/)

        const shows = async () => {
          const { worker } = (await call('GET', '')).body
          const { status } = (await call('GET', '/status')).body
          for (const { version, desiredVersion, state, rollout } of [worker, status]) {
            assert.deepEqual([version, desiredVersion, state], ['1.0.0', '2.0.0', 'running'])
            assert.deepEqual([rollout.version, rollout.state, rollout.taken, rollout.of], ['2.0.0', 'halted', 0, 1])
            assert.match(rollout.error, /not today/)
          }
          const { health } = (await call('GET', '/health')).body
          assert.deepEqual([health.score, health.terms.map((term: { name: string }) => term.name)], [90, ['rollout']])
          const { versions } = (await call('GET', '/versions')).body
          assert.deepEqual(
            versions.map((one: { state: string }) => one.state),
            ['active', 'refused'],
          )
          assert.equal(await answer(), 'one')
        }
        await shows()
        for (const [method, path, body] of [
          ['POST', '/restart', undefined],
          ['PUT', '', { queueName: `${name}-2` }],
          ['PUT', '', { isolation: 'thread' }],
          ['PUT', '', { isolation: 'inline' }],
          ['POST', '/stop', undefined],
          ['POST', '/start', undefined],
        ] as const) {
          const changed = await call(method, path, body)
          assert.deepEqual([changed.status, changed.body.operation?.failed], [200, []], JSON.stringify([path, changed.body]))
        }
        await shows()

        runs = signal()
        await host.stop()
        host = await boot()
        service = host.service(workersService)
        await runs.promise
        await eventually('it runs again', async () => (await service.get(name)).state === 'running')
        await shows()
        healthy = true
        const taken = await call('POST', '/versions/2.0.0/activate')
        assert.deepEqual(
          [taken.status, taken.body.message, taken.body.worker.rollout],
          [200, `Worker "${name}" runs version 2.0.0`, undefined],
        )
        assert.equal(await answer(), 'two')
        await service.remove(name)
      })
    }
  })
}
