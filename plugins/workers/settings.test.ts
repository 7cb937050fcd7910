import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { writeProcessors } from '../../scripts/testing/processor-files.js'
import { type Workers, workers, workersService } from './index.js'

/** Concurrently running jobs, and their maximum. */
function crowd() {
  let now = 0
  let most = 0
  let waiting: (() => void)[] = []
  return {
    /** Ends when `size` jobs run, or when no more will come. */
    processor: async (job: { readonly data: { readonly size: number } }) => {
      most = Math.max(most, ++now)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length >= job.data.size) for (const go of waiting.splice(0)) go()
      })
      now--
    },
    most: () => most,
    reset: () => {
      waiting = []
      most = 0
    },
  }
}

describe('settings and fields of workers', () => {
  let host: TestHost
  let service: Workers
  let rootDir: string
  const group = crowd()
  const ended: { worker: string; result: unknown }[] = []
  let news: () => void = () => undefined
  before(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'zin-settings-'))
    await writeProcessors(rootDir, { 'path.mjs': 'export default (job) => job.data' })
    host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers()],
      hooks: {
        onJobComplete: (worker, _job, result) => {
          ended.push({ worker, result })
          news()
        },
      },
      rootDir,
      env: { WORKER_AUTO_START: 'true', WORKER_CONCURRENCY: '3', WORKER_RETRIES: '7', WORKER_PRIORITY: '9' },
    })
    service = host.service(workersService)
  })
  after(async () => {
    await host.stop()
    await rm(rootDir, { recursive: true, force: true })
  })

  const results = async (worker: string, n: number): Promise<readonly unknown[]> => {
    for (;;) {
      const found = ended.filter((one) => one.worker === worker)
      if (found.length >= n) return found.map(({ result }) => result)
      await new Promise<void>((resolve) => (news = resolve))
    }
  }

  for (const [what, name, more, size] of [
    ['WORKER_CONCURRENCY, when its record sets no concurrency', 'by-setting', {}, 3],
    ['the concurrency of its record', 'by-record', { concurrency: 2 }, 2],
  ] as const) {
    it(`does as many jobs in parallel as ${what}`, async () => {
      group.reset()
      await service.create({ name, queueName: name, processor: group.processor, ...more })
      await service.pause(name)
      for (let n = 0; n < size * 2; n++) await service.enqueue(name, { size })
      await service.resume(name)
      await results(name, size * 2)
      assert.equal(group.most(), size)
    })
  }

  it('gives jobs the attempts of WORKER_RETRIES and the priority of WORKER_PRIORITY, unless they or their worker set others', async () => {
    await service.create({ name: 'waits', queueName: 'waits', processor: () => 1, autoStart: false })
    await service.create({ name: 'own', queueName: 'own', processor: () => 1, autoStart: false, jobOptions: { attempts: 4 } })
    const seen = []
    for (const [name, options] of [
      ['waits', {}],
      ['own', {}],
      ['own', { attempts: 2, priority: 'Low' }],
    ] as const) {
      const { id } = await service.enqueue(name, null, options)
      const { maxAttempts, priority } = await service.job(name, id)
      seen.push([maxAttempts, priority])
    }
    assert.deepEqual(seen, [
      [7, 9],
      [4, 9],
      [2, 0],
    ])
  })

  it('does no more jobs than its rateLimit allows', async () => {
    const at: number[] = []
    const processor = (job: { readonly processedOn?: number }) => void at.push(job.processedOn ?? 0)
    await service.create({ name: 'limited', queueName: 'limited', processor, rateLimit: { max: 1, duration: 200 } })
    await Promise.all([1, 2, 3].map((n) => service.enqueue('limited', n)))
    await results('limited', 3)
    assert.ok((at[2] ?? 0) - (at[0] ?? 0) >= 380, `at ${at}`)
  })

  it('accepts names of 50 characters, with capitals, digits, "_" and "-"', async () => {
    const name = `Aa_0-${'Z'.repeat(45)}`
    const call = (method: string, path: string, body?: object) =>
      host.inject({ method, path, headers: { 'x-requested-with': 'test' }, ...(body === undefined ? {} : { body }) })
    const made = await call('POST', '/api/workers', { name, queueName: name, processor: 'path.mjs' })
    assert.deepEqual([made.status, made.body.worker.name], [201, name])
    assert.equal((await call('GET', `/api/workers/${name}`)).body.worker.queueName, name)
    assert.equal((await call('POST', `/api/workers/${name}/jobs`, { data: 'done' })).status, 202)
    assert.deepEqual(await results(name, 1), ['done'])
    assert.equal((await call('GET', `/api/workers/${name.toLowerCase()}`)).status, 404)
    assert.equal((await call('DELETE', `/api/workers/${name}`)).status, 200)
  })

  it('returns job data and results unchanged, whatever characters they contain', async () => {
    const data = { html: '<b a="1">&amp; \'quoted\'</b>', back: '\\u003c \\ / `', null: null, deep: [{ '<key>': '&"\'' }], text: '日本 🎈' }
    await service.create({ name: 'echo', queueName: 'echo', processor: (job) => job.data })
    const { body } = await host.inject({
      method: 'POST',
      path: '/api/workers/echo/jobs',
      headers: { 'x-requested-with': 'test' },
      body: { data },
    })
    assert.deepEqual(await results('echo', 1), [data])
    assert.deepEqual((await host.inject({ path: `/api/workers/echo/jobs/${body.job.id}` })).body.job.result, data)
    assert.deepEqual((await host.service(queuesService).queue('echo').getJob(body.job.id))?.data, data)
  })

  it('rejects a name that is taken, and leaves the worker unchanged', async () => {
    await service.create({ name: 'taken', queueName: 'first', processor: 'path.mjs', concurrency: 4 })
    const before = await service.get('taken')
    const again = await host.inject({
      method: 'POST',
      path: '/api/workers',
      headers: { 'x-requested-with': 'test' },
      body: { name: 'taken', queueName: 'second', processor: 'path.mjs', concurrency: 9, version: '2.0.0' },
    })
    assert.deepEqual([again.status, again.body.code], [409, 'WORKER_EXISTS'])
    assert.deepEqual(await service.get('taken'), before)
    assert.equal((await service.versions('taken')).length, 1)
  })

  it('runs what code registered: a function, a path, or the code of a URL, unless it was unregistered', async () => {
    const url = 'https://code.example.test/job.mjs'
    const withdraw = [
      service.register('registered', () => 'function'),
      service.registerAll({ 'registered@2.0.0': () => 'version' }),
      service.registerPaths({ 'by-path': 'path.mjs' }),
      service.registerPrebuilt(url, () => 'prebuilt'),
    ]
    for (const [name, processor, result, version] of [
      ['registered', undefined, 'function', '1.0.0'],
      ['registered', undefined, 'version', '2.0.0'],
      ['by-path', undefined, 'data', '1.0.0'],
      ['prebuilt', url, 'prebuilt', '1.0.0'],
    ] as const) {
      const earlier = ended.filter(({ worker }) => worker === name).length
      await service.create({ name, queueName: name, version, ...(processor === undefined ? {} : { processor }) })
      await service.enqueue(name, 'data')
      assert.equal((await results(name, earlier + 1)).at(-1), result)
      await service.remove(name)
    }
    for (const undo of withdraw) undo()
    for (const name of ['registered', 'by-path'])
      await assert.rejects(service.create({ name, queueName: name }), { code: 'MISSING_PROCESSOR_SPEC' })
    await assert.rejects(service.create({ name: 'prebuilt', queueName: 'prebuilt', processor: url }), {
      code: 'INVALID_PROCESSOR_URL_HOST',
    })
  })
})

describe('on an edge runtime the processor of a record', () => {
  it('must be exactly the text that its code was registered with', async (t: TestContext) => {
    const url = 'https://code.example.test/job.mjs'
    const host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers({ runtime: 'edge', prebuilt: { [url]: () => 1 } })],
    })
    t.after(() => host.stop())
    const create = async (name: string, processor: string) => {
      const body = { name, queueName: name, processor }
      const answer = await host.inject({ method: 'POST', path: '/api/workers', headers: { 'x-requested-with': 'test' }, body })
      return answer.body.code ?? answer.status
    }
    assert.equal(await create('exact', url), 201)
    for (const near of [`${url}?v=1`, url.replace('.test/', '.test:443/'), url.replace('code', 'CODE'), `${url}#sha256-${'0'.repeat(64)}`])
      assert.equal(await create('near', near), 'PROCESSOR_NOT_PREBUILT', near)
  })
})
