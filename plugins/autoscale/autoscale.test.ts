import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions, decisionsService } from 'zin/plugins/decisions'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { workers, workersService } from 'zin/plugins/workers'
import { createTestHost, fake, type TestHost } from 'zin/testing'
import type { FailoverEvent, ScaleEvent } from './hooks.js'
import { autoscale } from './index.js'

const headers = { 'x-requested-with': 'test' }
const counts = { waiting: 500, active: 0, delayed: 0, completed: 0, failed: 0, waitingChildren: 0 }

/** Queues in which 500 jobs wait for a minute. */
const fullQueues = fake(queuesService, {
  backend: 'embedded',
  addCanceller: () => () => undefined,
  countsOf: async (names) => new Map(names.map((name) => [name, counts])),
  counts: async () => counts,
  oldestWaiting: async () => Date.now() - 60_000,
})
const dependencies = () => [database(), kv(), cluster(), ops(), decisions(), workers({ processors: { emails: () => 1 } })]

describe('the routes of autoscale', () => {
  let host: TestHost
  let scaled: (event: ScaleEvent) => void = () => undefined
  const first = new Promise<ScaleEvent>((resolve) => (scaled = resolve))
  const call = (method: string, path: string, body?: object) =>
    host.inject({ method, path, headers, ...(body === undefined ? {} : { body }) })

  before(async () => {
    host = await createTestHost({
      services: [fullQueues],
      plugins: [...dependencies(), autoscale()],
      hooks: { onScale: (event) => scaled(event) },
      env: { WORKER_AUTO_START: 'true', WORKER_AUTO_SCALING_ENABLED: 'true', WORKER_AUTO_SCALING_INTERVAL: '1' },
    })
    await host.service(workersService).create({ name: 'plain', queueName: 'plain', processor: () => 1 })
    await host.service(workersService).create({
      name: 'emails',
      queueName: 'emails',
      concurrency: 5,
      features: { autoScaling: true },
      extensions: { autoscale: { maxWorkers: 3 } },
    })
  })
  after(() => host.stop())

  it('show how many workers are desired, as numbers that the metrics-api scaler of KEDA can read', async () => {
    const { decisionId, direction, worker } = await first
    assert.deepEqual([worker, direction], ['emails', 'up'])
    let status: Readonly<Record<string, unknown>> = {}
    // The leader writes the statuses when all workers of the round are evaluated.
    while (typeof status.decisionId !== 'string') {
      const { body } = await call('GET', '/api/workers/emails/autoscale')
      status = body
    }
    assert.equal(status.ok, true)
    assert.deepEqual([status.worker, status.dryRun, status.backlog], ['emails', false, 500])
    assert.ok(status.decisionId.length === decisionId.length && String(status.reason).startsWith('500 jobs are waiting'))
    // A GJSON path such as `desired` must lead to a JSON number; 0 would scale to zero.
    for (const field of ['desired', 'current', 'backlog', 'queueAgeSeconds']) assert.equal(typeof status[field], 'number', field)
    assert.ok(Number.isInteger(status.desired) && (status.desired as number) >= 1 && (status.desired as number) <= 3)
    assert.ok((status.queueAgeSeconds as number) >= 59)
    const { body } = await call('GET', '/api/autoscale')
    assert.deepEqual([body.ok, body.enabled, body.dryRun, body.workers.length, body.workers[0].worker], [true, true, false, 1, 'emails'])
    const { scaled: record } = (await call('GET', '/api/workers/emails')).body.worker
    assert.ok(record.concurrency > 5 && record.reason.startsWith('500 jobs are waiting'))
  })

  it('refuse workers that are unknown or not scaled', async () => {
    const unknown = await call('GET', '/api/workers/nobody/autoscale')
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'WORKER_NOT_FOUND'])
    const plain = await call('GET', '/api/workers/plain/autoscale')
    assert.deepEqual([plain.status, plain.body.code], [409, 'AUTO_SCALING_OFF'])
  })

  const regions = (primary: unknown, secondaries: unknown) => ({ regions: { primary, secondaries } })
  const refused: readonly (readonly [extension: object, code: string, message: RegExp])[] = [
    [{ minWorkers: 5, maxWorkers: 2 }, 'INVALID_EXTENSION', /minWorkers" must be at most maxWorkers, which is 2/],
    [{ scaleDownThreshold: 200 }, 'INVALID_EXTENSION', /scaleDownThreshold" must be at most scaleUpThreshold, which is 100/],
    [{ minWorkers: 0 }, 'INVALID_EXTENSION', /minWorkers/],
    [{ evaluationInterval: 10 }, 'INVALID_EXTENSION', /evaluationInterval/],
    [{ surprise: 1 }, 'INVALID_EXTENSION', /surprise" is not a known field/],
    [regions('us-east-1', ['us-east-1']), 'INVALID_DATACENTER_TOPOLOGY', /must not be one of the secondaries/],
    [regions('us-east-1', ['eu-west-1', 'eu-west-1']), 'INVALID_DATACENTER_TOPOLOGY', /must be listed only once/],
    [regions('US-EAST', ['eu-west-1']), 'INVALID_EXTENSION', /regions\.primary/],
    [regions('us-east-1', ['e']), 'INVALID_EXTENSION', /regions\.secondaries/],
    [regions('us-east-1', []), 'INVALID_EXTENSION', /regions\.secondaries/],
    [{ regions: { primary: 'us-east-1' } }, 'INVALID_EXTENSION', /secondaries" is required/],
  ]
  for (const [extension, code, message] of refused) {
    it(`refuse a worker with ${JSON.stringify(extension)}`, async () => {
      const body = { features: { autoScaling: true, datacenter: true }, extensions: { autoscale: extension } }
      const answer = await call('PUT', '/api/workers/plain', body)
      assert.deepEqual([answer.status, answer.body.code], [400, code])
      assert.match(answer.body.message, message)
    })
  }
})

describe('AUTOSCALE_KEY', () => {
  const key = 'scaler-canary-'.padEnd(32, 'x')
  const path = '/api/workers/emails/autoscale'

  it('reads the desired number of a worker, and permits nothing else', async () => {
    const host = await createTestHost({
      services: [fullQueues],
      plugins: [...dependencies(), jwt(), autoscale()],
      env: { OPS_AUTH: 'required', AUTOSCALE_KEY: `${key}\n`, WORKER_AUTO_SCALING_ENABLED: 'true' },
    })
    try {
      await host.service(workersService).create({ name: 'emails', queueName: 'emails', features: { autoScaling: true } })
      const get = async (url: string, sent: Readonly<Record<string, string>>, method = 'GET') =>
        (await host.inject({ method, path: url, headers: sent })).status
      const right = { 'x-api-key': key }
      const answer = await host.inject({ method: 'GET', path, headers: right })
      assert.deepEqual([answer.status, typeof answer.body.desired, answer.headers['cache-control']], [200, 'number', 'no-store'])
      for (const wrong of [key.slice(1), `${key}x`, '', 'undefined'])
        assert.equal(await get(path, { 'x-api-key': wrong }), 401, `"${wrong}"`)
      assert.equal(await get(path, {}), 401)
      assert.equal(await get(path, { authorization: `Bearer ${key}` }), 401)
      const { token } = await host.service(tokensService).issue({ sub: '1', role: 'admin' })
      assert.equal(await get(path, { authorization: `Bearer ${token}` }), 200)
      for (const { method, path: route, use } of host.host.view.routes())
        if (use.includes('ops')) assert.equal(await get(route, right, method), 401, `${method} ${route}`)
      assert.doesNotMatch(host.logText(), /canary/)
    } finally {
      await host.stop()
    }
  })

  it('does not open the route when it is empty, and must be long in production', async () => {
    const options = (env: Readonly<Record<string, string>>) => ({
      services: [fullQueues],
      plugins: [...dependencies(), jwt(), autoscale()],
      env,
    })
    const host = await createTestHost(options({ OPS_AUTH: 'required', AUTOSCALE_KEY: ' ' }))
    assert.equal((await host.inject({ method: 'GET', path, headers: { 'x-api-key': '' } })).status, 401)
    await host.stop()
    const production = { NODE_ENV: 'production', APP_NAME: 'shop', APP_KEY: 'k'.repeat(32), OPS_AUTH: 'required', REDIS_URL: '' }
    await assert.rejects(createTestHost(options({ ...production, AUTOSCALE_KEY: key.slice(1) })), (error: Error) => {
      assert.match(error.message, /AUTOSCALE_KEY has 31 bytes and production requires 32 or more/)
      assert.doesNotMatch(error.message, /canary/)
      return true
    })
  })
})

describe('autoscale', () => {
  for (const [title, options, message] of [
    ['an unknown time zone', { timeZone: 'Mars/Olympus' }, /timeZone.*"Mars\/Olympus" is not a time zone/],
    [
      'a primary region among the secondaries',
      { regions: { primary: 'eu-west-1', secondaries: ['eu-west-1'] } },
      /regions.*must not be one/,
    ],
  ] as const) {
    it(`does not start with ${title}`, () =>
      assert.rejects(
        createTestHost({ services: [fullQueues], plugins: [...dependencies(), autoscale(options as Parameters<typeof autoscale>[0])] }),
        message,
      ))
  }

  it('moves a worker out of a region that has no process', async () => {
    let heard: (event: FailoverEvent) => void = () => undefined
    const moved = new Promise<FailoverEvent>((resolve) => (heard = resolve))
    const host = await createTestHost({
      services: [fullQueues],
      plugins: [...dependencies(), autoscale({ failoverSeconds: 0 })],
      hooks: { onFailover: (event) => heard(event) },
      env: { WORKER_REGION: 'eu-west-1' },
    })
    const service = host.service(workersService)
    await service.create({
      name: 'emails',
      queueName: 'emails',
      placement: { regions: ['us-east-1'] },
      features: { datacenter: true },
      extensions: { autoscale: { regions: { primary: 'us-east-1', secondaries: ['eu-west-1'] } } },
    })
    const { from, to, worker } = await moved
    assert.deepEqual([worker, from, to], ['emails', ['us-east-1'], 'eu-west-1'])
    assert.deepEqual((await service.get('emails')).placement, { nodes: 'all', regions: ['eu-west-1'] })
    await host.service(decisionsService).flush()
    const { decisions: kept } = await host.service(decisionsService).list({ kind: 'failover' })
    assert.deepEqual(
      kept.map(({ subject, verdict, acted }) => [subject, verdict, acted]),
      [['worker:emails', 'moved', true]],
    )
    await host.stop()
  })

  it('shows the current capacity of a worker while WORKER_AUTO_SCALING_ENABLED is false', async () => {
    const host = await createTestHost({ services: [fullQueues], plugins: [...dependencies(), autoscale()] })
    await host.service(workersService).create({ name: 'emails', queueName: 'emails', features: { autoScaling: true } })
    const { body } = await host.inject({ method: 'GET', path: '/api/workers/emails/autoscale', headers })
    assert.deepEqual([body.reason, body.backlog, body.decisionId], ['WORKER_AUTO_SCALING_ENABLED is false', 500, null])
    assert.deepEqual((await host.inject({ method: 'GET', path: '/api/autoscale', headers })).body, {
      ok: true,
      enabled: false,
      dryRun: false,
      workers: [],
    })
    await host.stop()
  })
})
