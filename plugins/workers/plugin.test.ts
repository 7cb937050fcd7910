import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { createTestHost, describePlugin, fake, type TestHost } from 'zin/testing'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { workers, workersService } from './index.js'
import { createBody } from './schema/workers.js'

// No job runs here: opening a queue store for each host would only take time.
const services = [fake(queuesService, { backend: 'embedded', addCanceller: () => () => undefined, schedules: async () => [] })]

describePlugin(() => [database(), kv(), cluster(), ops()], workers, { services, readme: new URL('./README.md', import.meta.url) })

describe('the plugin workers', () => {
  it('has a README that lists exactly the fields of a new worker', async () => {
    const readme = await readFile(new URL('./README.md', import.meta.url), 'utf8')
    const [, section = ''] = /^## Worker record$(.*?)^## /ms.exec(readme) ?? []
    const fields = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, field]) => field)
    assert.deepEqual(fields, Object.keys(createBody.properties))
  })

  it('does not boot without the access guard of its routes', async () => {
    await assert.rejects(createTestHost({ services, plugins: [database(), kv(), cluster(), workers()] }), /ops/)
  })

  it('does not boot with a store that no plugin provides', async () => {
    await assert.rejects(
      createTestHost({ services, plugins: [cluster(), ops(), workers()], env: { WORKER_PERSISTENCE_DRIVER: 'db' } }),
      /database/,
    )
  })

  it('has no routes and consumes nothing with WORKERS_ENABLED=false', async () => {
    const host = await createTestHost({
      services,
      plugins: [database(), kv(), cluster(), ops(), workers()],
      env: { WORKERS_ENABLED: 'false', WORKER_AUTO_START: 'true' },
    })
    assert.equal((await host.inject({ path: '/api/workers' })).status, 404)
    assert.equal((await host.service(workersService).create({ name: 'idle', queueName: 'idle', processor: () => 1 })).state, 'unknown')
    await host.stop()
  })

  it('keeps its routes and consumes nothing with WORKER_ENABLED=false', async () => {
    const host = await createTestHost({
      services,
      plugins: [database(), kv(), cluster(), ops(), workers()],
      env: { WORKER_ENABLED: 'false' },
    })
    await host.service(workersService).create({ name: 'idle', queueName: 'idle', processor: () => 1 })
    const answer = await host.inject({ method: 'POST', path: '/api/workers/idle/start', headers: { 'x-requested-with': 'test' } })
    assert.deepEqual([answer.status, answer.body.operation.applied], [202, []])
    await host.stop()
  })

  it('loads no code on an edge runtime', async () => {
    const host = await createTestHost({
      services,
      plugins: [database(), kv(), cluster(), ops(), workers({ runtime: 'edge', prebuilt: { 'job.mjs': () => 1 } })],
    })
    const create = async (name: string, processor: string) =>
      host.inject({
        method: 'POST',
        path: '/api/workers',
        headers: { 'x-requested-with': 'test' },
        body: { name, queueName: 'queue', processor },
      })
    const refused = await create('from-a-file', 'plugin.test.ts')
    assert.deepEqual([refused.status, refused.body.code], [400, 'PROCESSOR_NOT_PREBUILT'])
    assert.equal((await create('prebuilt', 'job.mjs')).status, 201)
    await host.stop()
  })

  describe('where operators need credentials', () => {
    let host: TestHost
    let rootDir: string
    const token = async (role: string): Promise<Record<string, string>> => {
      const { token } = await host.service(tokensService).issue({ sub: 'somebody', role })
      return { authorization: `Bearer ${token}` }
    }
    before(async () => {
      rootDir = await mkdtemp(join(tmpdir(), 'zin-workers-'))
      await writeProcessors(rootDir, { 'job.mjs': 'export default () => 1' })
      host = await createTestHost({
        services,
        plugins: [
          database(),
          kv(),
          cluster(),
          jwt(),
          ops({
            roles: ['admin', 'operator', 'viewer'],
            permissions: { 'workers:deploy': ['admin'], 'queues:write': ['admin', 'operator'] },
          }),
          workers({ processors: { known: () => 1, plain: () => 1 } }),
        ],
        env: { OPS_AUTH: 'required', JWT_SECRET: 'a-secret-of-more-than-thirty-two-characters' },
        rootDir,
      })
    })
    after(async () => {
      await host.stop()
      await rm(rootDir, { recursive: true, force: true })
    })

    it('guards every route', async () => {
      const routes = host.host.view.routes().filter((route) => route.plugin === 'workers')
      assert.equal(routes.length, 30)
      const reader = await token('reader')
      for (const { method, path } of routes) {
        const target = { method, path: path.replaceAll(/:\w+/g, 'known') }
        const stranger = await host.inject(target)
        assert.deepEqual([stranger.status, stranger.body.code], [401, 'UNAUTHORIZED'], `${method} ${path}`)
        const refused = await host.inject({ ...target, headers: reader })
        assert.deepEqual([refused.status, refused.body.code], [403, 'FORBIDDEN'], `${method} ${path}`)
        for (const { error, message } of [stranger.body, refused.body]) assert.ok(error.length > 0 && message.length > 0)
      }
    })

    it('accepts a processor path over HTTP only with the permission workers:deploy', async () => {
      const create = async (role: string, body: object) =>
        host.inject({ method: 'POST', path: '/api/workers', headers: await token(role), body })
      assert.equal((await create('operator', { name: 'known', queueName: 'queue' })).status, 201)
      for (const deploys of [{ processor: 'job.mjs' }, { healthCheck: 'job.mjs' }, { version: '2.0.0' }, { isolation: 'inline' }]) {
        const refused = await create('operator', { name: 'loads-code', queueName: 'queue', ...deploys })
        assert.deepEqual([refused.status, refused.body.code], [403, 'FORBIDDEN'], JSON.stringify(deploys))
      }
      assert.equal((await create('admin', { name: 'loads-code', queueName: 'queue', processor: 'job.mjs' })).status, 201)
      for (const [path, status] of [
        ['versions', 201],
        ['versions/1.0.0/activate', 200],
      ] as const) {
        const post = async (role: string) =>
          host.inject({ method: 'POST', path: `/api/workers/known/${path}`, headers: await token(role), body: { version: '1.1.0' } })
        assert.equal((await post('operator')).body.code, 'FORBIDDEN')
        assert.equal((await post('admin')).status, status)
      }
    })

    it('adds, cancels and schedules jobs only with the permission queues:write', async () => {
      const call = async (role: string, method: string, path: string, body: object) =>
        host.inject({ method, path: `/api/workers/known/${path}`, headers: await token(role), body })
      const writes: readonly (readonly [method: string, path: string, body: object])[] = [
        ['POST', 'jobs', { data: 1 }],
        ['POST', 'jobs', { data: 1, children: [{ worker: 'known' }] }],
        ['POST', 'jobs/none/cancel', {}],
        ['PUT', 'schedules/often', { every: 60_000 }],
        ['DELETE', 'schedules/often', {}],
      ]
      for (const [method, path, body] of writes) {
        const refused = await call('viewer', method, path, body)
        assert.deepEqual([refused.status, refused.body.code], [403, 'FORBIDDEN'], `${method} ${path}`)
        const answer = await call('operator', method, path, body)
        assert.notEqual(answer.status, 403, `${method} ${path}: ${answer.text}`)
      }
    })

    it('decides which queue a worker takes jobs from only with the permission queues:write', async () => {
      const call = async (role: string, method: string, path: string, body?: object) => {
        const { body: answer, status } = await host.inject({ method, path, headers: await token(role), ...(body && { body }) })
        return [status, answer.code]
      }
      const forbidden = [403, 'FORBIDDEN']
      const idle = { name: 'plain', queueName: 'queue', autoStart: false }
      assert.deepEqual(await call('viewer', 'POST', '/api/workers', idle), forbidden)
      assert.deepEqual(await call('viewer', 'POST', '/api/workers/create', idle), forbidden)
      assert.deepEqual(await call('operator', 'POST', '/api/workers', idle), [201, undefined])
      assert.deepEqual(await call('viewer', 'PUT', '/api/workers/plain', { queueName: 'other' }), forbidden)
      assert.deepEqual(await call('viewer', 'PUT', '/api/workers/plain', { concurrency: 2 }), [200, undefined])
      assert.deepEqual(await call('operator', 'PUT', '/api/workers/plain', { queueName: 'other' }), [200, undefined])
      assert.deepEqual(await call('viewer', 'DELETE', '/api/workers/plain'), forbidden)
      assert.deepEqual(await call('operator', 'DELETE', '/api/workers/plain'), [200, undefined])
    })

    it('removes workers that name code only with the permission workers:deploy', async () => {
      const call = async (role: string, method: string, path: string, body?: object) =>
        host.inject({ method, path, headers: await token(role), ...(body === undefined ? {} : { body }) })
      const named = { name: 'named', queueName: 'queue', processor: 'job.mjs', autoStart: false }
      assert.equal((await call('admin', 'POST', '/api/workers', named)).status, 201)
      assert.deepEqual((await call('operator', 'DELETE', '/api/workers/named')).body.code, 'FORBIDDEN')
      assert.equal((await call('operator', 'GET', '/api/workers/named')).status, 200)
      assert.equal((await call('admin', 'DELETE', '/api/workers/named')).status, 200)
      assert.equal((await call('operator', 'DELETE', '/api/workers/named')).status, 404)
      // Code that is registered in the app is not affected.
      assert.equal((await call('operator', 'POST', '/api/workers', { name: 'plain', queueName: 'queue', autoStart: false })).status, 201)
      assert.equal((await call('operator', 'DELETE', '/api/workers/plain')).status, 200)
    })

    it('changes where code runs only with the permission workers:deploy', async () => {
      const body = { name: 'apart', queueName: 'queue', processor: 'job.mjs', isolation: 'process' }
      assert.equal((await host.inject({ method: 'POST', path: '/api/workers', headers: await token('admin'), body })).status, 201)
      const change = async (role: string, changes: object) => {
        const answer = await host.inject({ method: 'PUT', path: '/api/workers/apart', headers: await token(role), body: changes })
        return answer.body.code ?? answer.body.worker.isolation
      }
      for (const isolation of ['inline', 'thread', 'process', 'vm', null])
        assert.equal(await change('operator', { concurrency: 2, isolation }), 'FORBIDDEN')
      assert.equal(await change('operator', { concurrency: 2 }), 'process')
      assert.equal(await change('admin', { isolation: 'thread' }), 'thread')
    })
  })
})
