import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from 'zin'
import { memoryLogger } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { freePort } from '../../../scripts/testing/free-port.js'
import { assemble } from '../assemble.js'
import { defineServices } from '../definitions/define-services.js'
import { microservicesOptions } from '../options.js'
import { moduleText, serve } from '../testing/servers.js'
import { servicesApp } from '../testing/services-app.js'
import { Scopes } from '../tracing/scopes.js'

const never = { minimumCalls: 1_000_000, failureRatio: 1, connectFailures: 1_000_000, openMs: 5000, maxOpenMs: 5000 }

describe('retries', () => {
  it('for 1,000 calls to a dead service are at most a fifth of the calls plus the floor', async (t) => {
    let attempts = 0
    const dead = await serve(t, (request) => {
      attempts++
      request.socket.destroy()
    })
    const { services } = await servicesApp(t, {
      options: { circuit: never, maxInFlight: 1000, timeoutMs: 60_000, services: { dead: { url: dead.url } } },
    })
    const began = performance.now()
    const results = await Promise.allSettled(Array.from({ length: 1000 }, () => services.callService('dead', { path: '/' })))
    const seconds = (performance.now() - began) / 1000
    assert.ok(results.every((result) => result.status === 'rejected' && (result.reason as { code: string }).code === 'SERVICE_UNREACHABLE'))
    // The floor is 3 per second, starting with 10 s worth.
    assert.ok(attempts > 1000 && attempts <= 1000 * 1.2 + 3 * (10 + seconds), `${attempts} attempts in ${seconds} s`)
  })

  it('stop at the circuit: of 1,000 calls to a dead service in a row, few reach it', async (t) => {
    let attempts = 0
    const dead = await serve(t, (request) => {
      attempts++
      request.socket.destroy()
    })
    const { host, services } = await servicesApp(t, { options: { services: { dead: { url: dead.url } } } })
    const codes = new Map<string, number>()
    for (let call = 0; call < 1000; call++) {
      const { code } = (await services.callService('dead', { method: 'POST', path: '/' }).catch((error: unknown) => error)) as {
        code: string
      }
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }
    assert.equal(attempts, 5)
    assert.deepEqual(
      [...codes],
      [
        ['SERVICE_UNREACHABLE', 5],
        ['SERVICE_CIRCUIT_OPEN', 995],
      ],
    )
    const [change] = host.recorded('onServiceCircuitChange')[0] as [{ to: string; instance: string }]
    assert.deepEqual([change.to, change.instance], ['open', 'dead-1'])
    const { body } = await host.inject({ path: '/api/decisions?subject=service:dead' })
    assert.deepEqual([body.decisions[0].kind, body.decisions[0].verdict], ['breaker', 'open'])
  })

  it('are made for repeatable calls, with a header, and honor Retry-After', async (t) => {
    const marks: unknown[] = []
    const flapping = await serve(t, ({ headers, method }, response) => {
      marks.push([method, headers['x-retry-attempt']])
      response.writeHead(marks.length % 2 === 1 ? 503 : 200, { 'retry-after': '0' }).end()
    })
    const { services } = await servicesApp(t, { options: { services: { flapping: { url: flapping.url } } } })
    assert.equal((await services.callService('flapping', { path: '/' })).status, 200)
    assert.equal((await services.callService('flapping', { method: 'POST', path: '/' })).status, 503)
    marks.length = 0
    assert.equal((await services.callService('flapping', { method: 'POST', path: '/', headers: { 'Idempotency-Key': 'a' } })).status, 200)
    assert.deepEqual(marks, [
      ['POST', undefined],
      ['POST', '1'],
    ])
  })

  it('are not made inside a request that is a retry', async (t) => {
    let attempts = 0
    const down = await serve(t, (_request, response) => {
      attempts++
      response.writeHead(503, { 'retry-after': '0' }).end()
    })
    const port = await freePort()
    const { services } = await servicesApp(t, {
      files: {
        'a/middle/service.config.json': { name: 'middle', port },
        'a/middle/index.mjs': moduleText(
          `{ method: 'GET', path: '/down', summary: 'Calls', handler: async () => ({ status: (await context.services.callService('down', { path: '/' })).status }) },`,
        ),
      },
      options: { services: { down: { url: down.url } } },
    })
    assert.deepEqual((await services.callService('middle', { path: '/down' })).data, { status: 503 })
    assert.equal(attempts, 3)
    const response = await fetch(`http://127.0.0.1:${port}/down`, { headers: { 'x-retry-attempt': '1' } })
    assert.equal(response.status, 200)
    assert.equal(attempts, 4)
  })
})

describe('the circuit of an instance', () => {
  it('opens, sends one probe, and closes', async (t) => {
    let status = 500
    const service = await serve(t, (_request, response) => void response.writeHead(status).end())
    const circuit = { minimumCalls: 4, openMs: 50, maxOpenMs: 100 }
    const { host, services } = await servicesApp(t, { options: { circuit, services: { service: { url: service.url } } } })
    const call = () => services.callService('service', { method: 'POST', path: '/' })
    for (let n = 0; n < 4; n++) assert.equal((await call()).status, 500)
    await assert.rejects(call(), { code: 'SERVICE_CIRCUIT_OPEN', status: 503 })
    status = 200
    await eventually('a probe goes', () =>
      call().then(
        () => true,
        () => false,
      ),
    )
    const states = host.recorded('onServiceCircuitChange').map(([change]) => (change as { to: string }).to)
    assert.deepEqual(states, ['open', 'half-open', 'closed'])
  })

  it('counts timeouts as failures, but not 4xx', async (t) => {
    const service = await serve(t, ({ url }, response) => {
      if (url === '/404') response.writeHead(404).end()
    })
    const circuit = { minimumCalls: 3, failureRatio: 0.5, connectFailures: 100, openMs: 60_000, maxOpenMs: 60_000 }
    const { services } = await servicesApp(t, {
      options: { circuit, services: { slow: { url: service.url }, wrong: { url: service.url } } },
    })
    for (let n = 0; n < 3; n++) await assert.rejects(services.callService('slow', { path: '/', timeout: 20 }), { code: 'SERVICE_TIMEOUT' })
    await assert.rejects(services.callService('slow', { path: '/', timeout: 20 }), { code: 'SERVICE_CIRCUIT_OPEN' })
    for (let n = 0; n < 30; n++) assert.equal((await services.callService('wrong', { path: '/404' })).status, 404)
  })
})

describe('limits of calls', () => {
  it('refuse calls beyond maxInFlight', async (t) => {
    const waiting: (() => void)[] = []
    const slow = await serve(t, (_request, response) => void waiting.push(() => response.end()))
    const { services } = await servicesApp(t, { options: { maxInFlight: 2, services: { slow: { url: slow.url } } } })
    const calls = [services.callService('slow', { path: '/' }), services.callService('slow', { path: '/' })]
    await assert.rejects(services.callService('slow', { path: '/' }), { code: 'SERVICE_BUSY', status: 503 })
    await eventually('both have arrived', () => waiting.length === 2)
    for (const end of waiting) end()
    await Promise.all(calls)
  })

  it('make a stop drain calls in flight', async (t) => {
    let end: (() => void) | undefined
    const slow = await serve(t, (_request, response) => {
      end = () => void response.end()
    })
    const { services } = await servicesApp(t, { options: { services: { slow: { url: slow.url } } } })
    const call = services.callService('slow', { path: '/' })
    await eventually('it has arrived', () => end !== undefined)
    assert.equal(services.list()[0]?.instances[0]?.inFlight, 1)
    const stop = services.stopService('slow')
    await eventually('it drains', () => services.list()[0]?.state === 'draining')
    await assert.rejects(services.callService('slow', { path: '/' }), { code: 'SERVICE_NOT_RUNNING' })
    end?.()
    assert.equal((await call).status, 200)
    assert.equal((await stop).state, 'stopped')
  })

  it('shrink the deadline at each hop', async (t) => {
    const seen: number[] = []
    const last = await serve(t, ({ headers }, response) => {
      seen.push(Number(headers['x-timeout-ms']))
      response.end()
    })
    const hop = (next: string) =>
      moduleText(`{ method: 'GET', path: '/next', summary: 'Calls', handler: async ({ request }) => {
        const { status } = await context.services.callService('${next}', { path: '/next', timeout: 60000 })
        return { status, ms: Number(request.headers['x-timeout-ms']) }
      } },`)
    const config = async (name: string) => ({ name, port: await freePort() })
    const { services } = await servicesApp(t, {
      files: {
        'a/first/service.config.json': await config('first'),
        'a/first/index.mjs': hop('second'),
        'a/second/service.config.json': await config('second'),
        'a/second/index.mjs': hop('last'),
      },
      options: { services: { last: { url: last.url } } },
    })
    const { data, status } = await services.callService<{ ms: number }>('first', { path: '/next', timeout: 30_000 })
    assert.equal(status, 200)
    assert.ok(data.ms <= 30_000 && (seen[0] as number) <= data.ms && (seen[0] as number) > 0, `${data.ms}, ${seen[0]}`)
  })

  it('do not send the deadline without propagateDeadline', async (t) => {
    let header: unknown = 'none'
    const service = await serve(t, ({ headers }, response) => {
      header = headers['x-timeout-ms']
      response.end()
    })
    const { services } = await servicesApp(t, { options: { propagateDeadline: false, services: { service: { url: service.url } } } })
    await services.callService('service', { path: '/' })
    assert.equal(header, undefined)
  })
})

describe('host names', () => {
  async function calls(t: TestContext, answers: readonly (readonly string[])[]) {
    const service = await serve(t, (_request, response) => void response.writeHead(200, { connection: 'close' }).end())
    const registered = { named: { url: `http://named.test:${service.port}` } }
    const tracing = { enabled: false, samplingRate: 1 }
    const common = {
      discovers: false,
      found: [],
      allowed: [],
      host: '127.0.0.1',
      basePort: 3001,
      process: 'shared',
      isolation: 'shared',
      reserved: [],
      authorities: {},
    } as const
    let asked = 0
    const { manager, register } = assemble({
      options: microservicesOptions.defaults,
      auth: {
        secrets: { SERVICE_API_KEY: '', SERVICE_JWT_SECRET: '', SERVICE_SIGNING_SECRET: '' },
        caller: 'test',
        clock: systemClock,
        custom: {},
        takeNonce: async () => undefined,
      },
      scopes: new Scopes(),
      tracing,
      clock: systemClock,
      random: () => 0,
      log: memoryLogger(),
      resolver: async () => answers[Math.min(asked++, answers.length - 1)] ?? [],
      runner: () => undefined,
    })
    register(defineServices({ ...common, registered, tracing }).services)
    await manager.startAll(assert.ifError)
    t.after(() => manager.stopAll())
    return () => manager.callService('named', { method: 'POST', path: '/', timeout: 5000 })
  }

  it('may resolve to loopback and private addresses', async (t) => assert.equal((await (await calls(t, [['127.0.0.1']]))()).status, 200))

  for (const address of ['169.254.169.254', '0.0.0.0', '224.0.0.1', '::', 'fd00:ec2::254'])
    it(`never resolve to ${address}, not even together with another address`, async (t) => {
      await assert.rejects((await calls(t, [['127.0.0.1', address]]))(), { code: 'SERVICE_INVALID_TARGET' })
    })

  for (const later of ['10.0.0.1', '93.184.216.34', '169.254.169.254'])
    it(`that resolved to loopback do not resolve to ${later} later`, async (t) => {
      const call = await calls(t, [['127.0.0.1'], [later]])
      assert.equal((await call()).status, 200)
      await assert.rejects(call(), { code: 'SERVICE_INVALID_TARGET' })
    })
})

describe('traces', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`
  const hops = async (t: TestContext, env: Record<string, string>, options = {}, tracing = {}) => {
    const seen: (string | undefined)[] = []
    const last = await serve(t, ({ headers }, response) => {
      seen.push(headers.traceparent as string | undefined)
      response.end()
    })
    const port = await freePort()
    const app = await servicesApp(t, {
      env,
      files: {
        'a/first/service.config.json': { name: 'first', port, tracing },
        'a/first/index.mjs':
          moduleText(`{ method: 'GET', path: '/plain', summary: 'Calls', handler: async () => ({ status: (await context.services.callService('last', { path: '/' })).status }) },
          { method: 'GET', path: '/traced', summary: 'Calls', handler: async () => ({ status: (await context.services.callService('last', { path: '/', headers: context.services.injectHeaders({ a: 'b' }) })).status }) },`),
      },
      options: { ...options, services: { last: { url: last.url } } },
    })
    const lines = () =>
      app.host.logs.filter(({ msg }) => msg === 'request traced') as unknown as {
        traceId: string
        service: string
        parentSpanId?: string
        linkedTraceId?: string
      }[]
    return { ...app, seen, lines, url: `http://127.0.0.1:${port}` }
  }

  it('are read and logged, and propagated only by injectHeaders', async (t) => {
    const { lines, seen, url } = await hops(t, { MICROSERVICES_TRACING: 'true' })
    await fetch(`${url}/plain`, { headers: { traceparent } })
    await fetch(`${url}/traced`, { headers: { traceparent } })
    assert.equal(seen[0], undefined)
    assert.match(seen[1] ?? '', new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
    assert.ok(!seen[1]?.includes('00f067aa0ba902b7'))
    assert.deepEqual(
      lines().map((line) => [line.traceId, line.service, line.parentSpanId]),
      Array(2).fill([traceId, 'first', '00f067aa0ba902b7']),
    )
  })

  it('are neither started nor logged without MICROSERVICES_TRACING, but are propagated', async (t) => {
    const { lines, seen, url } = await hops(t, {})
    await fetch(`${url}/traced`)
    await fetch(`${url}/traced`, { headers: { traceparent } })
    assert.equal(seen[0], undefined)
    assert.ok(seen[1]?.includes(traceId))
    assert.equal(lines().length, 0)
  })

  it('are sampled at the rate of the setting or of the service', async (t) => {
    const none = await hops(t, { MICROSERVICES_TRACING: 'true', MICROSERVICES_TRACING_RATE: '0' })
    await fetch(`${none.url}/traced`)
    assert.match(none.seen[0] ?? '', /-00$/)
    assert.equal(none.lines().length, 0)
    const own = await hops(t, { MICROSERVICES_TRACING_RATE: '0' }, {}, { enabled: true, samplingRate: 1 })
    await fetch(`${own.url}/traced`)
    assert.match(own.seen[0] ?? '', /-01$/)
    assert.equal(own.lines().length, 1)
  })

  it('start anew at the edge with restartTraces, and link the old one', async (t) => {
    const { lines, seen, url } = await hops(t, { MICROSERVICES_TRACING: 'true' }, { restartTraces: true })
    await fetch(`${url}/traced`, { headers: { traceparent } })
    assert.ok(!seen[0]?.includes(traceId))
    assert.equal(lines()[0]?.linkedTraceId, traceId)
  })

  it('continue in a job', async (t) => {
    const { services } = await servicesApp(t)
    const headers = services.continueTrace({ traceparent }, () => services.injectHeaders({ a: 'b' }))
    assert.ok(headers.traceparent?.includes(traceId))
    assert.deepEqual([headers.a, headers['x-trace-id']], ['b', traceId])
    assert.deepEqual(services.injectHeaders(), {})
  })
})
