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
import { createTestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { type Workers, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

interface Backend {
  readonly env: Readonly<Record<string, string>>
  /** Record stores on which a reboot is tested. */
  readonly drivers: readonly string[]
}

/** The state of a worker once a node has reported its status, which takes a moment after a boot. */
async function known(service: Workers, name: string): Promise<string> {
  const state = async () => (await service.get(name)).state
  await eventually('a node reports its state', async () => !['unknown', 'starting'].includes(await state()))
  return state()
}

/** Workers after a reboot of their app. Names are unique per run, so stores may be shared. */
export function rebootContract(title: string, { env, drivers }: Backend): void {
  const plugins = () => [database(), kv(), cluster(), queues(), ops()]
  const run = randomUUID().slice(0, 8)
  describe(`workers over a reboot on ${title}`, () => {
    for (const driver of drivers) {
      it(`run if they are created in ${driver} with functions as soon as the app has started`, async (t) => {
        const name = `early-${driver}-${run}`
        const places = {
          WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
          CLUSTER_NAME: name,
          WORKER_PERSISTENCE_TABLE: name.replaceAll('-', '_'),
        }
        const settings = { ...env, ...places, WORKER_AUTO_START: 'true', WORKER_PERSISTENCE_DRIVER: driver }
        const host = await createTestHost({ plugins: [...plugins(), workers()], env: settings })
        t.after(() => host.stop())
        const create = (n: number) => host.service(workersService).create({ name: `${name}-${n}`, queueName: name, processor: () => 1 })
        const made = await Promise.all(Array.from({ length: 10 }, (_, n) => create(n)))
        assert.deepEqual([...new Set(made.map(({ state }) => state))], ['running'])
      })

      it(`come back from ${driver}: running and FAILED ones run, those stopped by an operator stay stopped, failing ones block nothing`, async () => {
        const [name, queue] = [`reboot-${driver}-${run}`, `queue-${driver}-${run}`]
        const rootDir = await mkdtemp(join(tmpdir(), 'zin-workers-'))
        const code = 'export default () => 1'
        const folder = await writeProcessors(rootDir, { 'ok.mjs': code, 'gone.mjs': code })
        const started: string[] = []
        let wanted = signal()
        const boot = (autoStart: string, roles?: readonly ('http' | 'worker')[]) =>
          createTestHost({
            plugins: [...plugins(), workers()],
            hooks: {
              onWorkerStart(worker) {
                started.push(worker)
                if (started.includes(name) && started.includes(`${name}-failed`)) wanted.fire()
              },
            },
            rootDir,
            dataDir: join(rootDir, 'data'),
            env: {
              ...env,
              WORKER_AUTO_START: autoStart,
              WORKER_PERSISTENCE_DRIVER: driver,
              WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
              CLUSTER_NAME: name,
              WORKER_PERSISTENCE_TABLE: name.replaceAll('-', '_'),
            },
            ...(roles === undefined ? {} : { roles }),
          })
        try {
          let host = await boot('true')
          let service = host.service(workersService)
          for (const suffix of ['', '-failed', '-stopped'])
            await service.create({ name: `${name}${suffix}`, queueName: queue, processor: 'ok.mjs' })
          await service.create({ name: `${name}-broken`, queueName: queue, processor: 'gone.mjs' })
          await service.stop(`${name}-stopped`)
          await service.local.fail(`${name}-failed`, new Error('its checks failed'))
          const { createdAt } = await service.get(name)
          await host.stop()

          await rm(join(folder, 'gone.mjs'))
          started.length = 0
          wanted = signal()
          host = await boot('true')
          service = host.service(workersService)
          await wanted.promise
          for (const suffix of ['', '-failed'])
            await eventually(`${name}${suffix} runs`, async () => (await service.get(`${name}${suffix}`)).state === 'running')
          assert.equal((await service.get(name)).createdAt, createdAt)
          assert.equal((await service.get(`${name}-failed`)).lastError, undefined)
          assert.equal((await service.get(`${name}-stopped`)).state, 'stopped')
          // Steps of one worker run one at a time: when this one has failed, that of the boot has been logged.
          await assert.rejects(service.restart(`${name}-broken`), { code: 'INVALID_PROCESSOR_PATH' })
          assert.equal((await service.get(`${name}-broken`)).state, 'FAILED')
          assert.equal(host.logText().split(`${name}-broken\\" did not start`).length - 1, 2)
          await host.stop()

          started.length = 0
          host = await boot('false')
          assert.deepEqual(started, [])
          assert.equal(await known(host.service(workersService), name), 'stopped')
          service = host.service(workersService)
          await service.registerVersion(name, { version: '1.1.0', processor: 'ok.mjs' })
          await service.monitor(name, true)
          await service.update(name, { concurrency: 3 })
          await service.activate(name, '1.1.0')
          assert.equal((await service.get(name)).state, 'stopped')
          assert.equal((await service.start(name)).worker.state, 'running')
          await host.stop()

          host = await boot('true', ['http'])
          service = host.service(workersService)
          assert.equal((await service.get(name)).state, 'unknown')
          const answer = await host.inject({
            method: 'POST',
            path: `/api/workers/${name}/restart`,
            headers: { 'x-requested-with': 'test' },
          })
          assert.deepEqual([answer.status, answer.body.operation.targets], [202, []])
          const { id } = await service.enqueue(name, 1)
          assert.equal((await service.job(name, id)).status, 'waiting')
          for (const suffix of ['', '-failed', '-stopped', '-broken']) await service.remove(`${name}${suffix}`)
          assert.equal((await service.list()).pagination.total, 0)
          await host.stop()
        } finally {
          await rm(rootDir, { recursive: true, force: true })
        }
      })
    }
  })
}
