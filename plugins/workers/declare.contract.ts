import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { ZinError } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { workerErrors } from './errors.js'
import { type CreateWorker, workers, workersService } from './index.js'

/** Workers that code declares. Names are unique per run, so stores may be shared. */
export function declareContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`workers declared in code on ${title}`, () => {
    const run = randomUUID().slice(0, 8)
    const inFolder = async (work: (boot: Boot) => Promise<void>): Promise<void> => {
      const rootDir = await mkdtemp(join(tmpdir(), 'zin-declare-'))
      const key = `declare-${randomUUID().slice(0, 8)}`
      const own = {
        CLUSTER_NAME: key,
        WORKER_PERSISTENCE_REDIS_KEY_PREFIX: key,
        WORKER_PERSISTENCE_TABLE: key.replaceAll('-', '_'),
      }
      const hosts: TestHost[] = []
      try {
        await writeProcessors(rootDir, { 'a.mjs': 'export default () => "a"', 'b.mjs': 'export default () => "b"' })
        await work(async (declare, roles, more) => {
          const host = await createTestHost({
            plugins: [database(), kv(), cluster(), queues(), ops(), workers({ declare: [...declare] })],
            rootDir,
            dataDir: join(rootDir, 'data'),
            env: { WORKER_AUTO_START: 'true', ...env, ...own, ...more },
            ...(roles === undefined ? {} : { roles }),
          })
          hosts.push(host)
          return host
        })
      } finally {
        await Promise.all(hosts.map((host) => host.stop().catch(() => undefined)))
        await rm(rootDir, { recursive: true, force: true })
      }
    }
    type Boot = (
      declare: readonly CreateWorker[],
      roles?: readonly ('http' | 'worker')[],
      more?: Readonly<Record<string, string>>,
    ) => Promise<TestHost>
    const [name, queueName] = [`mails-${run}`, `mails-${run}`]

    it('are created when absent, and changed where their declaration differs; the rest is up to operators', async () => {
      await inFolder(async (boot) => {
        const first: CreateWorker = { name, queueName, processor: 'a.mjs', concurrency: 2, autoStart: false, jobOptions: { attempts: 3 } }
        let host = await boot([first], [])
        assert.equal((await host.service(workersService).list()).pagination.total, 0, 'a command changes nothing')
        await host.stop()

        host = await boot([first])
        let service = host.service(workersService)
        const created = await service.get(name)
        assert.deepEqual([created.concurrency, created.autoStart, created.jobOptions.attempts], [2, false, 3])
        await service.update(name, { rateLimit: { max: 5, duration: 1000 } })
        await service.scale(name, 7)
        await service.start(name)
        const { generation } = (host.recorded('onWorkerChange').at(-1)?.[0] as { after: { generation: number } }).after
        await host.stop()

        host = await boot([first])
        service = host.service(workersService)
        assert.deepEqual(host.recorded('onWorkerChange'), [], 'the same declaration changes nothing')
        await host.stop()

        host = await boot([{ ...first, concurrency: 4, jobOptions: { attempts: 5 } }])
        service = host.service(workersService)
        const changed = await service.get(name)
        assert.deepEqual(
          [changed.concurrency, changed.scaled?.concurrency, changed.rateLimit?.max, changed.jobOptions.attempts],
          [4, 7, 5, 5],
        )
        const [change] = host.recorded('onWorkerChange').map(([one]) => one as { action: string; actor: object; after: object })
        assert.deepEqual(
          [change?.action, change?.actor, (change?.after as { generation: number }).generation],
          ['update', { kind: 'plugin', id: 'zin.config', via: 'plugin' }, generation + 1],
        )
        await host.stop()

        host = await boot([])
        const line = host.logs.find(({ msg }) => msg?.includes('no longer declared'))
        assert.ok(line?.msg?.includes(`${name} (zin.config)`), host.logText())
        assert.equal((await host.service(workersService).get(name)).name, name)
      })
    })

    it('are named at the start with what to set, if they are wanted and no setting lets them start', async () => {
      await inFolder(async (boot) => {
        const named = (host: TestHost): readonly string[] =>
          host.logs.flatMap(({ msg = '' }) => (msg.includes('does not start:') ? [msg] : []))
        const off = { WORKER_AUTO_START: 'false' }
        const wanted: CreateWorker = { name, queueName, processor: 'a.mjs', autoStart: true }
        const others: CreateWorker[] = [
          { name: `${name}-off`, queueName, processor: 'a.mjs', autoStart: false },
          { name: `${name}-open`, queueName, processor: 'a.mjs' },
        ]
        let host = await boot([wanted, ...others], undefined, off)
        const [line = '', ...more] = named(host)
        assert.deepEqual(more, [], 'only the one that is declared to start')
        assert.match(line, /WORKER_AUTO_START is not true; set WORKER_AUTO_START=true .* "zin worker:start mails-/)
        await host.service(workersService).start(name)
        await host.service(workersService).stop(name)
        await host.stop()

        host = await boot([wanted, ...others], undefined, off)
        assert.deepEqual(named(host), [], 'an operator stopped it')
        await host.service(workersService).start(name)
        await host.stop()

        host = await boot([wanted], undefined, off)
        assert.deepEqual(named(host), [line], 'a start by an operator does not outlast the process')
        await host.stop()

        host = await boot([wanted, ...others])
        assert.deepEqual(named(host), [])
      })
    })

    it('run new code as a new version, once; afterwards operators choose the version', async () => {
      await inFolder(async (boot) => {
        const resultOf = async (host: TestHost): Promise<unknown> => {
          const service = host.service(workersService)
          const { id } = await service.enqueue(name, {})
          await eventually('the job has ended', async () => (await service.job(name, id)).status === 'completed')
          return (await service.job(name, id)).result
        }
        const versions = async (host: TestHost) =>
          (await host.service(workersService).versions(name)).map(({ state, version }) => `${version} ${state}`)
        const first: CreateWorker = { name, queueName, processor: 'a.mjs' }
        let host = await boot([first])
        assert.equal(await resultOf(host), 'a')
        await host.stop()

        host = await boot([{ ...first, processor: 'b.mjs' }])
        await eventually('it is active', async () => (await versions(host)).includes('1.0.1 active'))
        assert.equal(await resultOf(host), 'b')
        await host.service(workersService).activate(name, '1.0.0')
        await host.stop()

        host = await boot([{ ...first, processor: 'b.mjs' }])
        await eventually('the chosen one runs', async () => (await versions(host)).includes('1.0.0 active'))
        assert.deepEqual((await versions(host)).length, 2)
        await host.stop()

        host = await boot([{ ...first, processor: 'b.mjs', version: '2.0.0' }])
        await eventually('it is active', async () => (await versions(host)).includes('2.0.0 active'))
        await host.stop()

        host = await boot([{ ...first, processor: 'a.mjs', version: '2.0.0' }])
        assert.match(host.logText(), /its declaration has other code than the stored version 2\.0\.0/)
        assert.equal((await versions(host)).length, 3)
        await host.stop()

        const given: CreateWorker = { name, queueName, processor: async () => 'in code', version: '3.0.0' }
        host = await boot([given])
        await eventually('it is active', async () => (await versions(host)).includes('3.0.0 active'))
        assert.equal(await resultOf(host), 'in code')
      })
    })

    it('are declared once, and refused at the start with what is wrong', async () => {
      await inFolder(async (boot) => {
        const worker: CreateWorker = { name, queueName, processor: () => 1 }
        await assert.rejects(boot([worker, worker]), (error: Error & { readonly causes: readonly { readonly error: ZinError }[] }) => {
          assert.equal(error.causes[0]?.error.code, 'WORKER_DECLARED')
          return /workers\.declare\[1\]: Worker ".*" is already declared by zin\.config \(workers\.declare\[0\]\); declare it once/.test(
            error.message,
          )
        })
        for (const [wrong, says] of [
          [{ concurrency: 0 }, '"concurrency" must be an integer from 1 to 1000'],
          [{ name: 'x' }, "A worker's name must be"],
          [{ queueName: undefined }, '"queueName" is missing'],
          [{ proccessor: 'a.mjs' }, '"proccessor" is not known; did you mean "processor"?'],
        ] as const)
          await assert.rejects(boot([worker, { ...worker, name: `${name}-2`, ...wrong } as CreateWorker]), (error: Error) =>
            error.message.includes(`workers.declare[1]: ${says}`),
          )
      })
    })

    it('are named by their place if they are no objects', async () => {
      await inFolder(async (boot) => {
        const worker: CreateWorker = { name, queueName, processor: () => 1 }
        for (const wrong of [null, 'mails', []]) await assert.rejects(boot([worker, wrong as unknown as CreateWorker]), /declare\b.?1\b/)
      })
    })

    it('are named by their place among those of their plugin', async () => {
      await inFolder(async (boot) => {
        const service = (await boot([])).service(workersService).as('shop')
        const withdraw = service.declare({ name, queueName, processor: () => 1 })
        assert.throws(() => service.declare({ name: 'x', queueName, processor: () => 1 }), {
          code: 'INVALID_WORKER_NAME',
          status: 400,
          message: /^declaration 2 of shop: A worker's name must be/,
        })
        withdraw()
      })
    })

    it('are reported when they cannot be applied', async () => {
      await inFolder(async (boot) => {
        const host = await boot([{ name, queueName, processor: 'gone.mjs' }])
        const { message } = workerErrors.WORKER_NOT_DECLARED(name, 'workers.declare[0]', new Error(''))
        const told = host.logs.filter(({ msg }) => msg?.startsWith(message))
        assert.equal(told.length, 1, host.logText())
      })
    })
  })
}
