import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { type AttemptEnd, flowRootOf, type Workers, workers, workersService } from './index.js'
import { signal } from './testing/signal.js'

/** The extension points for plugins, through the service of a booted app. */
export function workerSeamsContract(title: string, env: Readonly<Record<string, string>>): void {
  describe(`extension points of workers on ${title}`, () => {
    const run = randomUUID().slice(0, 8)
    const order: string[] = []
    let rootDir: string
    let host: TestHost
    let service: Workers
    let heard: (end: AttemptEnd) => void = () => undefined
    const nextEnds = (count: number): Promise<readonly AttemptEnd[]> =>
      new Promise((resolve) => {
        const ends: AttemptEnd[] = []
        heard = (end) => {
          ends.push(end)
          if (ends.length === count) resolve(ends)
        }
      })

    const wrapping = (name: string, dependencies: readonly string[], options: { readonly order?: 'pre' | 'post' } = {}) =>
      definePlugin({
        name,
        version: '1.0.0',
        dependencies,
        uses: { workers: workersService },
        setup({ services, onStop }) {
          onStop(
            services.workers.useJobMiddleware(
              (_context, next) => {
                order.push(name)
                return next()
              },
              { plugin: name, ...options },
            ),
          )
        },
      })()

    before(async () => {
      rootDir = await mkdtemp(join(tmpdir(), 'zin-seams-'))
      await writeProcessors(rootDir, { 'isolated.mjs': 'export default async (job) => ({ twice: job.data.n * 2 })' })
      host = await createTestHost({
        plugins: [
          database(),
          kv(),
          queues(),
          ops(),
          cluster(),
          workers(),
          wrapping('last', ['first']),
          wrapping('first', []),
          wrapping('inmost', [], { order: 'post' }),
          wrapping('outmost', ['last'], { order: 'pre' }),
        ],
        hooks: { onAttemptEnd: (end) => heard(end) },
        rootDir,
        env: { ...env, WORKER_AUTO_START: 'true', WORKER_PERSISTENCE_REDIS_KEY_PREFIX: run },
      })
      service = host.service(workersService)
    })
    after(async () => {
      await host.stop()
      await rm(rootDir, { recursive: true, force: true })
    })

    it('wrap attempts in the order of the plugins, including those of isolated processors, unless the feature is off', async () => {
      const all = ['outmost', 'first', 'last', 'inmost']
      for (const [name, more, wrapped] of [
        ['inline', { processor: () => 1 }, all],
        ['isolated', { processor: 'isolated.mjs', isolation: 'thread' }, all],
        ['asked-for', { processor: () => 1, features: { plugins: true } }, all],
        ['left-out', { processor: () => 1, features: { plugins: false } }, []],
      ] as const) {
        await service.create({ name: `${name}-${run}`, queueName: `${name}-${run}`, ...more })
        order.length = 0
        const ended = nextEnds(1)
        await service.enqueue(`${name}-${run}`, { n: 1 })
        assert.equal((await ended)[0]?.outcome, 'completed')
        assert.deepEqual(order, wrapped, name)
      }
    })

    it('release a job without using up an attempt', async () => {
      const name = `given-back-${run}`
      const remove = service.useJobMiddleware(
        ({ job, putBack, worker }, next) =>
          next().catch((error: unknown) => {
            if (worker === name && job.attemptsStarted === 1) putBack('not on this node')
            throw error
          }),
        { plugin: 'workers' },
      )
      await service.create({ name, queueName: name, processor: () => Promise.reject(new Error('broken')) })
      const ended = nextEnds(2)
      await service.enqueue(name, null, { attempts: 1 })
      assert.deepEqual(
        (await ended).map(({ attempt, final, outcome }) => [attempt, final, outcome]),
        [
          [1, false, 'deferred'],
          [1, true, 'failed'],
        ],
      )
      remove()
    })

    it('refuse a version, with their evidence, until it is activated by force', async () => {
      const name = `refused-${run}`
      await service.create({ name, queueName: name, processor: () => 1 })
      await service.registerVersion(name, { version: '2.0.0', processor: () => 2 })
      const refusal = { reason: '40 of 50 jobs failed', evidence: { failed: 40 } }
      const { state, refused } = await service.as('trial').refuseVersion(name, '2.0.0', refusal)
      assert.deepEqual([state, refused?.by, refused?.reason, refused?.evidence], ['refused', 'trial', refusal.reason, { failed: 40 }])
      await assert.rejects(service.activate(name, '2.0.0'), { code: 'VERSION_REFUSED', status: 409, message: /40 of 50 jobs.*force=true/ })
      const path = `/api/workers/${name}/versions/2.0.0/activate`
      const request = { method: 'POST', path, headers: { 'x-requested-with': 'test' } }
      assert.equal((await host.inject(request)).status, 409)
      assert.equal((await host.inject({ ...request, path: `${path}?force=true` })).status, 200)
      assert.equal((await service.versions(name))[1]?.refused, undefined)
      const notJson = { reason: 'x', evidence: { failed: 40n } }
      for (const bad of [{ reason: '' }, { reason: 'x'.repeat(501) }, { reason: 'x', evidence: { text: 'x'.repeat(5_000) } }, notJson])
        await assert.rejects(service.refuseVersion(name, '1.0.0', bad), { code: 'INVALID_REFUSAL', status: 400 })
      await assert.rejects(service.refuseVersion(name, '7.0.0', refusal), { code: 'VERSION_NOT_FOUND', status: 404 })
    })

    it('identify the flow of a job', async () => {
      const name = `flow-${run}`
      const roots: unknown[] = []
      const remove = service.routeVersions(name, (job) => {
        roots.push(flowRootOf(job) ?? job.id)
        return undefined
      })
      await service.create({ name, queueName: name, processor: () => 1 })
      const ended = nextEnds(3)
      const leaf = { worker: name }
      const flow = await service.enqueueFlow({ worker: name, children: [{ worker: name, children: [leaf] }] })
      await ended
      assert.deepEqual(roots, [flow.id, flow.id, flow.id])
      remove()
    })

    it('refuse what would be ignored in a flow', async () => {
      const name = `ignored-${run}`
      await service.create({ name, queueName: name, processor: () => 1 })
      const enqueueFlow = service.enqueueFlow as (...args: unknown[]) => Promise<unknown>
      for (const args of [
        [{ worker: name, children: [] }, { attempts: 2 }],
        [{ worker: name, options: { onFailure: 'continue' } }],
        [{ worker: name, children: [{ worker: name, options: { onFailure: 'never' } }] }],
        [{ worker: name, attempts: 2 }],
      ]) {
        await assert.rejects(enqueueFlow(...args), { status: 400 }, JSON.stringify(args))
      }
      await assert.rejects(service.enqueue(name, 1, { onFailure: 'continue' }), { code: 'INVALID_JOB_OPTIONS', status: 400 })
      assert.equal((await service.metrics(name)).counts.waiting, 0)
    })

    describe('candidates', () => {
      const name = `routed-${run}`
      const ran = (end: AttemptEnd | undefined) => [end?.version, end?.outcome]
      const attempt = async (data: unknown): Promise<AttemptEnd | undefined> => {
        const ended = nextEnds(1)
        await service.enqueue(name, data)
        return (await ended)[0]
      }
      const onNode = async () => (await service.nodesOf(name))[0]
      let release = signal()
      let begun = signal()

      it('run the jobs that a route gives them, next to the active version', async () => {
        await service.create({ name, queueName: name, processor: () => 1 })
        const slow = async (job: { readonly data: unknown }) => {
          begun.fire()
          if (job.data === 'slow') await release.promise
        }
        await service.registerVersion(name, { version: '2.0.0', processor: slow })
        const remove = service.routeVersions(name, (job) => (job.data === 'old' ? undefined : '2.0.0'))
        assert.throws(() => service.routeVersions(name, () => undefined), { code: 'VERSIONS_ROUTED', status: 409 })
        assert.deepEqual(ran(await attempt('not loaded yet')), ['1.0.0', 'completed'])
        const { worker, operation } = await service.setCandidates(name, ['2.0.0'])
        assert.deepEqual([worker.version, operation.state], ['1.0.0', 'applied'])
        assert.deepEqual((await onNode())?.candidates, [{ version: '2.0.0', busy: 0 }])
        assert.deepEqual(ran(await attempt('new')), ['2.0.0', 'completed'])
        assert.deepEqual(ran(await attempt('old')), ['1.0.0', 'completed'])
        remove()
        assert.deepEqual(ran(await attempt('new')), ['1.0.0', 'completed'])
      })

      it('fall back to the active version when a route names another one or fails, which is logged once and counted', async () => {
        const answers = ['3.0.0', '3.0.0', new Error('lost its map')]
        const remove = service.routeVersions(name, () => {
          const answer = answers.shift()
          if (answer instanceof Error) throw answer
          return answer
        })
        for (const n of [1, 2, 3]) assert.deepEqual(ran(await attempt(n)), ['1.0.0', 'completed'])
        assert.equal(service.local.list().find((local) => local.name === name)?.routeFallbacks, 3)
        const told = host.logs.filter((line) => JSON.stringify(line).includes('falls back to its active version'))
        assert.equal(told.length, 3)
        remove()
      })

      it('finish their jobs when they are no longer candidates', async () => {
        const remove = service.routeVersions(name, () => '2.0.0')
        release = signal()
        begun = signal()
        const ended = nextEnds(1)
        await service.enqueue(name, 'slow')
        await begun.promise
        await service.setCandidates(name, [])
        const { candidates, draining } = (await onNode()) ?? {}
        assert.deepEqual([candidates, draining], [undefined, { '2.0.0': 1 }])
        release.fire()
        assert.deepEqual(ran((await ended)[0]), ['2.0.0', 'completed'])
        assert.deepEqual(ran(await attempt('after')), ['1.0.0', 'completed'])
        remove()
      })

      it('are rejected with the error of the node, without affecting the active version, when they are not healthy', async () => {
        const processor = () => 1
        await service.registerVersion(name, { version: '2.1.0', processor, healthCheck: () => ({ healthy: false, error: 'no database' }) })
        await assert.rejects(service.setCandidates(name, ['2.1.0']), { code: 'VERSION_UNHEALTHY', status: 409, message: /no database/ })
        const node = await onNode()
        assert.deepEqual([node?.version, node?.candidates?.[0]?.version], ['1.0.0', '2.1.0'])
        assert.match(node?.candidates?.[0]?.error ?? '', /no database/)
        assert.equal((await service.get(name)).lastError, undefined)
        await service.setCandidates(name, [])
        await assert.rejects(service.setCandidates(name, ['9.9.9']), { code: 'VERSION_NOT_FOUND', status: 404 })
        await assert.rejects(service.setCandidates(name, ['x']), { status: 400 })
        const many = ['4.0.0', '4.0.1', '4.0.2', '4.0.3', '4.0.4', '4.0.5']
        await assert.rejects(service.setCandidates(name, many), { code: 'TOO_MANY_CANDIDATES', status: 409 })
      })

      it('become the active version when activated, and survive a restart', async () => {
        await service.setCandidates(name, ['2.0.0'])
        await service.restart(name)
        assert.deepEqual((await onNode())?.candidates, [{ version: '2.0.0', busy: 0 }])
        await service.activate(name, '2.0.0')
        const node = await onNode()
        assert.deepEqual([node?.version, node?.candidates], ['2.0.0', undefined])
        assert.deepEqual(ran(await attempt('new')), ['2.0.0', 'completed'])
      })
    })
  })
}
