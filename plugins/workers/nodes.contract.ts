import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { type Workers, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

interface App {
  readonly host: TestHost
  readonly service: Workers
}

/** A node that drains, and the life of a worker on one node. Names are unique per run, so stores may be shared. */
export function nodesContract(title: string, env: Readonly<Record<string, string>>): void {
  /** Boots an app with stores of its own; another one with the same `name` and folder finds what the first has stored. */
  const folderFor = async (t: TestContext): Promise<string> => {
    const rootDir = await mkdtemp(join(tmpdir(), 'zin-nodes-'))
    t.after(() => rm(rootDir, { recursive: true, force: true }))
    return rootDir
  }
  interface Booted {
    readonly name: string
    readonly rootDir: string
    readonly env?: Readonly<Record<string, string>>
    readonly roles?: readonly ('http' | 'worker')[]
  }
  const boot = async (t: TestContext, { name, roles, rootDir, env: more }: Booted): Promise<App> => {
    const host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
      rootDir,
      dataDir: join(rootDir, 'data'),
      env: {
        ...env,
        WORKER_AUTO_START: 'true',
        WORKER_PERSISTENCE_REDIS_KEY_PREFIX: name,
        WORKER_PERSISTENCE_TABLE: name.replaceAll('-', '_'),
        CLUSTER_NAME: name,
        ...more,
      },
      ...(roles === undefined ? {} : { roles }),
    })
    t.after(() => host.stop())
    return { host, service: host.service(workersService) }
  }
  const start = async (t: TestContext): Promise<App & { readonly name: string }> => {
    const name = `nodes-${randomUUID().slice(0, 8)}`
    return { ...(await boot(t, { name, rootDir: await folderFor(t) })), name }
  }
  const headers = { 'x-requested-with': 'test' }

  describe(`a node on ${title}`, { timeout: 60_000 }, () => {
    it('drains: it finishes its jobs and takes no new ones, says how many run, and takes jobs again once that is undone', async (t) => {
      const { host, name, service } = await start(t)
      const done: unknown[] = []
      const [began, release] = [signal(), signal()]
      await service.create({
        name,
        queueName: name,
        async processor({ data }) {
          began.fire()
          if (data === 1) await release.promise
          done.push(data)
        },
      })
      await service.enqueue(name, 1)
      await began.promise
      const [node] = await service.nodes()
      const id = node?.id ?? assert.fail('no node')
      const nodeNow = async () => (await host.inject({ path: '/api/nodes' })).body.nodes.find((one: { id: string }) => one.id === id)
      const path = `/api/nodes/${encodeURIComponent(id)}/drain`
      const answer = await host.inject({ method: 'POST', path, headers })
      assert.deepEqual([answer.status, answer.body.node.draining, answer.body.node.busy], [200, true, 1], answer.text)
      assert.match(answer.body.message, /; 1 still runs there$/)
      assert.deepEqual([(await nodeNow()).busy, (await service.nodesOf(name))[0]?.busy], [1, 1])
      await eventually('the worker is stopping', async () => (await service.get(name)).state === 'stopping')
      await service.enqueue(name, 2)

      release.fire()
      await eventually('it has drained', async () => (await nodeNow()).busy === 0)
      await eventually('the worker runs nowhere', async () => (await service.get(name)).state === 'unknown')
      assert.deepEqual(done, [1])
      assert.equal((await host.service(queuesService).counts(name)).waiting, 1)

      const undone = await host.inject({ method: 'DELETE', path, headers })
      assert.deepEqual([undone.status, undone.body.node.draining], [200, false])
      await eventually('it takes jobs again', () => done.length === 2)
      assert.deepEqual(
        host.logs.filter(({ level }) => level === 'error'),
        [],
      )
    })

    it('continues the worker in place when a drain is undone while jobs run', async (t) => {
      const { host, name, service } = await start(t)
      const [began, release] = [signal(), signal()]
      const done: unknown[] = []
      let starts = 0
      host.service(workersService).events(({ state, type }) => (type === 'status' && state === 'starting' ? starts++ : undefined))
      await service.create({
        name,
        queueName: name,
        concurrency: 2,
        async processor({ data }) {
          began.fire()
          if (data === 'long') await release.promise
          done.push(data)
        },
      })
      await service.enqueue(name, 'long')
      await began.promise
      const [node] = await service.nodes()
      await service.drain(node?.id ?? '', true)
      await eventually('the worker is stopping', async () => (await service.get(name)).state === 'stopping')
      const before = starts
      await service.drain(node?.id ?? '', false)
      await service.enqueue(name, 'short')
      await eventually('it takes jobs', () => done.includes('short'))
      release.fire()
      await eventually('the long one ends', () => done.includes('long'))
      assert.equal(starts, before, 'it did not start again')
    })

    it('is 404 when it does not exist', async (t) => {
      const { host } = await start(t)
      for (const method of ['POST', 'DELETE']) {
        const answer = await host.inject({ method, path: '/api/nodes/nobody%3A1%3Aab/drain', headers })
        assert.deepEqual([answer.status, answer.body.code], [404, 'NODE_NOT_FOUND'])
      }
    })
  })

  describe(`the life of a worker on ${title}`, { timeout: 60_000 }, () => {
    it('a stop or pause does not wait for a version whose health check hangs', async (t) => {
      const { name, service } = await start(t)
      let checks = signal()
      // Once its time is over, a check that hangs refuses the version.
      const waitMs = 30_000
      const refused = async () => (await service.get(name)).rollout?.state === 'halted'
      await service.create({ name, queueName: name, processor: () => 1 })
      await service.registerVersion(name, { version: '2.0.0', processor: () => 2 })
      service.registerHealthCheck(`${name}@2.0.0`, (_name, aborted) => {
        checks.fire()
        return once(aborted, 'abort').then(() => ({ healthy: false, error: 'too late' }))
      })
      await service.activate(name, '2.0.0', { waitMs: 0 })
      await checks.promise
      checks = signal()
      const paused = await service.pause(name, { waitMs })
      assert.deepEqual([paused.operation.state, paused.worker.state, await refused()], ['applied', 'paused', false])
      await checks.promise
      const stopped = await service.stop(name, { waitMs })
      assert.deepEqual([stopped.operation.state, stopped.worker.state, await refused()], ['applied', 'stopped', false])
    })

    it('a stop does not wait for code that does not finish loading', async (t) => {
      const name = `nodes-${randomUUID().slice(0, 8)}`
      const rootDir = await folderFor(t)
      const loaded = signal()
      Object.assign(globalThis, { [name]: loaded.promise })
      await writeProcessors(rootDir, { 'hangs.mjs': `await globalThis[${JSON.stringify(name)}]\nexport default () => 1` })
      const { host, service } = await boot(t, { name, rootDir })
      await service.create({ name, queueName: name, processor: 'hangs.mjs', autoStart: false })
      await service.start(name, { waitMs: 0 })
      await eventually('it starts', async () => (await service.get(name)).state === 'starting')
      const { operation, worker } = await service.stop(name, { waitMs: 30_000 })
      assert.deepEqual([operation.state, worker.state], ['applied', 'stopped'])
      assert.doesNotMatch(host.logText(), /did not start/)
      // So that nothing of the import is left at the end.
      loaded.fire()
    })

    it('a running job can be cancelled while its worker changes the queue', async (t) => {
      const { host, name, service } = await start(t)
      const began = signal()
      const failed: string[] = []
      await service.create({
        name,
        queueName: name,
        async processor(_job, _token, aborted) {
          began.fire()
          await once(aborted ?? assert.fail('no signal'), 'abort')
          failed.push(String(aborted?.reason))
          throw aborted?.reason
        },
      })
      const { id } = await service.enqueue(name, null)
      await began.promise
      await service.update(name, { queueName: `${name}-b` }, { waitMs: 0 })
      await eventually('it leaves the queue', async () => (await service.get(name)).state === 'stopping')
      const { outcome } = await host.service(queuesService).cancel(name, id, 'not needed')
      assert.equal(outcome, 'cancelled')
      await eventually('the worker takes from the other queue', async () => (await service.get(name)).state === 'running')
      const job = await host.service(queuesService).job(name, id)
      assert.deepEqual([job?.state, failed.length], ['failed', 1])
    })

    it('a worker that is created while its predecessor is being removed inherits neither counts nor health', async (t) => {
      const { host, name, service } = await start(t)
      const [began, release] = [signal(), signal()]
      const fails = async ({ data }: { readonly data: unknown }): Promise<void> => {
        if (data !== 'last') throw new Error('on purpose')
        began.fire()
        await release.promise
      }
      await service.create({ name, queueName: name, processor: fails as never, jobOptions: { attempts: 1 } })
      for (let n = 0; n < 10; n++) await service.enqueue(name, n)
      await eventually('they fail', async () => (await service.metrics(name)).failed === 10)
      assert.equal((await service.counts([name]))[0]?.failed, 10)
      assert.ok((await service.health(name)).score < 100)
      await service.enqueue(name, 'last')
      await began.promise
      await service.remove(name, { waitMs: 0 })
      await service.create({ name, queueName: `${name}-b`, processor: () => 1 }, { waitMs: 0 })
      const fresh = async () => {
        const { completed, failed } = await service.metrics(name)
        return {
          completed,
          failed,
          counts: await service.counts([name]),
          terms: (await service.health(name)).terms.map(({ name }) => name),
        }
      }
      await eventually('the counts are those of the new one', async () => (await service.counts([name])).length === 0)
      const { terms, ...counted } = await fresh()
      assert.deepEqual(counted, { completed: 0, failed: 0, counts: [] })
      assert.ok(!terms.some((term) => /fail/i.test(term)), terms.join())
      release.fire()
      await eventually('the new one runs', async () => (await service.get(name)).state === 'running')
      assert.deepEqual((await fresh()).failed, 0)
      await host.stop()
    })

    it('a stopped worker on a good version that activates two bad ones goes back to the good one', async (t) => {
      const { name, service } = await start(t)
      await service.create({ name, queueName: name, processor: () => 1 })
      for (const version of ['2.0.0', '3.0.0']) {
        await service.registerVersion(name, { version, processor: () => 2 })
        service.registerHealthCheck(`${name}@${version}`, () => ({ healthy: false, error: 'bad' }))
      }
      await service.stop(name)
      await service.activate(name, '2.0.0')
      await service.activate(name, '3.0.0')
      const { worker } = await service.start(name)
      assert.deepEqual([worker.state, worker.version, worker.desiredVersion], ['running', '1.0.0', '3.0.0'])
    })

    it('a version that was activated before its worker ever ran takes no jobs until its health check passes', async (t) => {
      const name = `nodes-${randomUUID().slice(0, 8)}`
      const rootDir = await folderFor(t)
      const settings = { name, rootDir, env: { WORKER_AUTO_START: 'false' } }
      await writeProcessors(rootDir, { 'one.mjs': 'export default () => 1', 'two.mjs': 'export default () => 2' })
      const { service } = await boot(t, settings)
      await service.create({ name, queueName: name, processor: 'one.mjs' })
      await service.registerVersion(name, { version: '2.0.0', processor: 'two.mjs' })
      service.registerHealthCheck(`${name}@2.0.0`, () => ({ healthy: false, error: 'bad' }))
      await service.activate(name, '2.0.0')
      const { worker } = await service.start(name)
      assert.deepEqual([worker.state, worker.version, worker.desiredVersion], ['running', '1.0.0', '2.0.0'])
    })

    it('a version that a later process is the first to run takes no jobs until its health check passes', async (t) => {
      const name = `nodes-${randomUUID().slice(0, 8)}`
      const rootDir = await folderFor(t)
      await writeProcessors(rootDir, { 'one.mjs': 'export default () => 1', 'two.mjs': 'export default () => 2' })
      const driver = { WORKER_PERSISTENCE_DRIVER: env.WORKER_PERSISTENCE_DRIVER ?? 'db' }
      const settings = { name, rootDir, env: { ...driver, WORKER_AUTO_START: 'false' } }
      const first = await boot(t, settings)
      await first.service.create({ name, queueName: name, processor: 'one.mjs' })
      await first.service.registerVersion(name, { version: '2.0.0', processor: 'two.mjs' })
      await first.service.activate(name, '2.0.0')
      await first.host.stop()

      const second = await boot(t, settings)
      let healthy = false
      second.service.registerHealthCheck(`${name}@2.0.0`, () => (healthy ? { healthy } : { healthy, error: 'bad' }))
      const { worker } = await second.service.start(name)
      assert.deepEqual([worker.state, worker.version, worker.desiredVersion], ['running', '1.0.0', '2.0.0'])
      healthy = true
      await second.service.activate(name, '2.0.0')
      await eventually('it runs', async () => (await second.service.get(name)).version === '2.0.0')
      // It has run once: a check that fails for a moment at a later start does not take it back.
      await second.service.stop(name)
      await second.host.stop()
      const third = await boot(t, settings)
      third.service.registerHealthCheck(`${name}@2.0.0`, () => ({ healthy: false, error: 'bad' }))
      assert.equal((await third.service.start(name)).worker.version, '2.0.0')
    })

    it('a start that no node could apply is applied by the next node that can, and by no later boot', async (t) => {
      const name = `nodes-${randomUUID().slice(0, 8)}`
      const rootDir = await folderFor(t)
      await writeProcessors(rootDir, { 'ok.mjs': 'export default () => 1' })
      const settings = {
        name,
        rootDir,
        env: { WORKER_AUTO_START: 'false', WORKER_PERSISTENCE_DRIVER: env.WORKER_PERSISTENCE_DRIVER ?? 'db' },
      }
      const manager = await boot(t, { ...settings, roles: ['http'] })
      await manager.service.create({ name, queueName: name, processor: 'ok.mjs' })
      const { message, operation } = await manager.service.start(name)
      assert.deepEqual([operation.state, operation.targets], ['pending', []])
      assert.match(message, /the next eligible node applies it/)
      await manager.host.stop()

      const node = await boot(t, settings)
      await eventually('it runs', async () => (await node.service.get(name)).state === 'running')
      await eventually('the operation has ended', async () => (await node.service.operation(name, operation.id)).state === 'applied')
      await node.host.stop()

      const later = await boot(t, settings)
      await eventually('a node reports it', async () => (await later.service.get(name)).state !== 'unknown')
      assert.equal((await later.service.get(name)).state, 'stopped')
    })

    it('an operation ends when its only node has gone', async (t) => {
      const name = `nodes-${randomUUID().slice(0, 8)}`
      const rootDir = await folderFor(t)
      const settings = { name, rootDir, env: { WORKER_PERSISTENCE_DRIVER: env.WORKER_PERSISTENCE_DRIVER ?? 'db' } }
      const { host, service } = await boot(t, settings)
      const begun = signal()
      await service.create({ name, queueName: name, processor: () => 1 })
      await service.registerVersion(name, { version: '2.0.0', processor: () => 2 })
      service.registerHealthCheck(`${name}@2.0.0`, (_name, aborted) => {
        begun.fire()
        return once(aborted, 'abort').then(() => ({ healthy: false, error: 'too late' }))
      })
      const { operation } = await service.activate(name, '2.0.0', { waitMs: 0 })
      assert.deepEqual([operation.state, operation.targets.length], ['pending', 1])
      await begun.promise
      await host.stop()
      const manager = await boot(t, { ...settings, roles: ['http'] })
      await eventually('no target is left', async () => (await manager.service.operation(name, operation.id)).targets.length === 0)
      const { operation: stop } = await manager.service.stop(name)
      assert.equal(stop.state, 'applied')
    })

    it('a worker may be named like the path of the events', async (t) => {
      const { host, service } = await start(t)
      const path = '/api/workers/events'
      const accept = 'application/json'
      assert.equal((await host.inject({ path, headers: { ...headers, accept } })).status, 404)
      await service.create({ name: 'events', queueName: 'events', processor: () => 1, autoStart: false })
      const answer = await host.inject({ path, headers: { ...headers, accept } })
      assert.deepEqual([answer.status, answer.body.worker.name], [200, 'events'])
      assert.equal((await host.inject({ path, headers })).body.worker.name, 'events')
      assert.equal((await host.inject({ method: 'POST', path: `${path}/start`, headers })).status, 200)
      await service.remove('events')
    })
  })
}
