import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { Middleware } from 'koa'
import { Type } from 'typebox'
import { ZinError } from '../errors.js'
import { refuse } from './refusal-body.js'
import { requestContext } from './request-context.js'
import { listen, makeApp, route } from './test-support.js'

const hello = route({ method: 'GET', path: '/hello', handler: () => ({ hello: true }) })

test('what a handler returns is the body of a 200 response', async (t) => {
  const handlers: Record<string, () => unknown> = {
    object: () => ({ a: 1 }),
    list: () => [1, 2],
    text: () => 'text',
    number: () => 0,
    no: () => false,
    bytes: () => Buffer.from('bytes'),
    stream: () => Readable.from(['str', 'eam']),
    later: () => Promise.resolve({ later: true }),
    date: () => new Date(0),
  }
  const { app } = makeApp(
    t,
    Object.entries(handlers).map(([name, handler]) => route({ method: 'GET', path: `/${name}`, handler })),
  )
  const text = async (name: string): Promise<string> => {
    const response = await app.inject({ path: `/${name}` })
    assert.equal(response.status, 200)
    return response.text
  }
  assert.equal(await text('object'), '{"a":1}')
  assert.equal(await text('list'), '[1,2]')
  assert.equal(await text('text'), 'text')
  assert.equal(await text('number'), '0')
  assert.equal(await text('no'), 'false')
  assert.equal(await text('bytes'), 'bytes')
  assert.equal(await text('stream'), 'stream')
  assert.equal(await text('later'), '{"later":true}')
  assert.equal(await text('date'), '"1970-01-01T00:00:00.000Z"')
})

test('JSON is sent as UTF-8 with its length in bytes, and with the JSON content type unless the handler sets another', async (t) => {
  const texts = ['ascii', 'Latin-1: é', 'further: €', 'pair: 😀', 'half: \ud83d', 'control: \u0000\u007f\u0080']
  const { app } = makeApp(t, [
    route({ method: 'GET', path: '/texts', handler: (ctx) => ({ text: texts[Number(ctx.query.at)] }) }),
    route({ method: 'GET', path: '/problem', handler: (ctx) => ((ctx.type = 'application/problem+json'), { title: 'No' }) }),
  ])
  for (const [at, text] of texts.entries()) {
    const { body, headers } = await app.inject({ path: `/texts?at=${at}` })
    assert.deepEqual(body, { text })
    assert.equal(headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(headers['content-length'], String(Buffer.byteLength(JSON.stringify({ text }))))
  }
  assert.match(String((await app.inject({ path: '/problem' })).headers['content-type']), /^application\/problem\+json/)
})

test('a handler may set status, body and headers on the context instead', async (t) => {
  const { app } = makeApp(t, [
    route({ method: 'POST', path: '/created', handler: (ctx) => ((ctx.status = 201), { id: 1 }) }),
    route({ method: 'GET', path: '/body', handler: (ctx) => void (ctx.body = { set: true }) }),
    route({ method: 'GET', path: '/nothing', handler: () => undefined }),
    route({ method: 'GET', path: '/null', handler: () => null }),
    route({ method: 'GET', path: '/teapot', handler: (ctx) => void (ctx.status = 418) }),
    route({ method: 'GET', path: '/own', handler: (ctx) => ((ctx.respond = false), void ctx.res.end('own')) }),
  ])
  const get = (path: string, method = 'GET') => app.inject({ method, path })
  assert.deepEqual([(await get('/created', 'POST')).status, (await get('/created', 'POST')).body], [201, { id: 1 }])
  assert.deepEqual((await get('/body')).body, { set: true })
  assert.deepEqual([(await get('/nothing')).status, (await get('/nothing')).text], [204, ''])
  assert.equal((await get('/null')).status, 204)
  assert.equal((await get('/teapot')).body.code, 'I_M_A_TEAPOT')
  assert.deepEqual([(await get('/own')).status, (await get('/own')).text], [200, 'own'])
})

test('HEAD is served by GET routes without a body, and OPTIONS lists the methods', async (t) => {
  const { app } = makeApp(t, [hello, { ...hello, path: '/live', probe: true }, { ...hello, method: 'PUT' }])
  for (const path of ['/hello', '/live']) {
    const head = await app.inject({ method: 'HEAD', path })
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', '14'])
  }
  const options = await app.inject({ method: 'OPTIONS', path: '/hello' })
  assert.deepEqual([options.status, options.headers.allow, options.text], [204, 'GET, HEAD, OPTIONS, PUT', ''])
})

test('unknown paths are 404 and wrong methods are 405 with Allow', async (t) => {
  const { app } = makeApp(t, [hello])
  const unknown = await app.inject({ path: '/Hello' })
  assert.deepEqual([unknown.status, unknown.body.code], [404, 'NOT_FOUND'])
  assert.equal(unknown.headers['cache-control'], 'no-store')
  const wrong = await app.inject({ method: 'DELETE', path: '/hello' })
  assert.deepEqual([wrong.status, wrong.body.code, wrong.headers.allow], [405, 'METHOD_NOT_ALLOWED', 'GET, HEAD, OPTIONS'])
  const overridden = await app.inject({ method: 'POST', path: '/hello', headers: { 'x-http-method-override': 'GET' } })
  assert.equal(overridden.status, 405)
})

test('a well-formed request id from a trusted proxy is kept, and any other is replaced', async (t) => {
  const { app } = makeApp(t, [hello], { trustedProxies: 1 })
  const idFor = async (inbound?: string, to = app) =>
    (await to.inject({ path: '/hello', headers: { 'x-request-id': inbound } })).headers['x-request-id']
  assert.equal(await idFor('abc.DEF-123_x'), 'abc.DEF-123_x')
  const uuid = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
  for (const bad of [undefined, 'short', 'with space inside', 'x'.repeat(129), '<script>alert</script>'])
    assert.match(String(await idFor(bad)), uuid)
  assert.match(String(await idFor('abc.DEF-123_x', makeApp(t, [hello]).app)), uuid)
  const ids = await Promise.all(Array.from({ length: 300 }, () => idFor()))
  assert.equal(new Set(ids).size, 300)
})

test('probes run before everything else', async (t) => {
  const { app } = makeApp(t, [{ ...hello, path: '/live', probe: true }, hello], { allowedHosts: ['app.example'] })
  const seen: string[] = []
  app.addGlobal('limit', (ctx) => {
    seen.push(ctx.path)
    ctx.status = 429
  })
  app.compile()
  const headers = { host: 'evil.test' }
  assert.equal((await app.inject({ path: '/live?x=1', headers })).status, 200)
  assert.equal((await app.inject({ path: '/hello', headers })).status, 421)
  const limited = await app.inject({ path: '/hello' })
  assert.deepEqual([limited.status, limited.body.code], [429, 'TOO_MANY_REQUESTS'])
  assert.deepEqual(seen, ['/hello'])
})

test('a failing probe returns the standard error body', async (t) => {
  const { app } = makeApp(t, [
    {
      ...hello,
      path: '/sync',
      probe: true,
      handler: () => {
        throw new ZinError('DOWN', 'it is down', { status: 503 })
      },
    },
    {
      ...hello,
      path: '/async',
      probe: true,
      handler: async () => {
        throw new ZinError('DOWN', 'it is down', { status: 503 })
      },
    },
  ])
  for (const path of ['/sync', '/async']) {
    const response = await app.inject({ path })
    assert.deepEqual([response.status, response.body], [503, { error: 'Down', message: 'it is down', code: 'DOWN' }])
  }
})

test('a request for a host that is not listed gets an error that names the option', async (t) => {
  const { app } = makeApp(t, [hello], { allowedHosts: ['app.example'] })
  const { status, body } = await app.inject({ path: '/hello', headers: { host: 'other.example' } })
  assert.equal(status, 421)
  assert.match(body.message, /app\.allowedHosts in zin\.config\.ts/)
})

test('the host list includes the port the app listens on', async (t) => {
  const { app } = makeApp(t, [hello], { allowedHosts: ['127.0.0.1'] })
  const port = await listen(app)
  assert.equal((await fetch(`http://127.0.0.1:${port}/hello`)).status, 200)
  assert.equal((await fetch(`http://localhost:${port}/hello`).catch(() => ({ status: 421 }))).status, 421)
  assert.equal((await app.inject({ path: '/hello' })).status, 200)
  assert.equal((await app.inject({ path: '/hello', headers: { host: `127.0.0.1:${port + 1}` } })).body.code, 'MISDIRECTED')
})

test('S40: early data is accepted for GET and HEAD only', async (t) => {
  const { app } = makeApp(t, [hello, { ...hello, method: 'POST' }])
  const headers = { 'early-data': '1' }
  assert.equal((await app.inject({ path: '/hello', headers })).status, 200)
  assert.equal((await app.inject({ method: 'POST', path: '/hello', headers })).status, 425)
})

test('global middleware runs by rank, keyed middleware in the order of the route, both before the body is read', async (t) => {
  const { app } = makeApp(t)
  const steps: string[] = []
  const step = (name: string) => async (ctx: { req: { readableEnded: boolean } }, next: () => Promise<unknown>) => {
    assert.equal(ctx.req.readableEnded, false)
    steps.push(name)
    await next()
    steps.push(`${name} after`)
  }
  app.addGlobal('late', step('late'))
  app.addGlobal('early', step('early'))
  app.setRank((plugin) => (plugin === 'early' ? 0 : 1))
  app.addMiddleware('a', { key: 'one', handler: step('one') })
  app.addMiddleware('a', { key: 'two', handler: step('two') })
  app.addRoute(
    'a',
    route({ method: 'POST', path: '/x', use: ['two', 'one'], body: Type.Object({}), handler: () => (steps.push('handler'), {}) }),
  )
  app.compile()
  assert.equal((await app.inject({ method: 'POST', path: '/x', body: { a: 1 } })).status, 200)
  assert.deepEqual(steps, ['early', 'late', 'two', 'one', 'handler', 'one after', 'two after', 'late after', 'early after'])
})

test('each phase of global middleware has its place, whatever the order and rank of registration; probes have none of them', async (t) => {
  const { app } = makeApp(t, [{ ...hello, path: '/live', probe: true }])
  const steps: string[] = []
  const step =
    (name: string): Middleware =>
    (ctx, next) => {
      steps.push(ctx.input === undefined ? name : `${name} with input`)
      return next()
    }
  for (const phase of ['parsed', 'guarded', 'global', 'limits'] as const) app.addGlobal('late', step(phase), phase)
  app.addGlobal('early', step('early'), 'limits')
  app.setRank((plugin) => (plugin === 'early' ? 0 : 1))
  app.addMiddleware('a', { key: 'guard', handler: step('guard') })
  app.addMiddleware('a', { key: 'refuses', handler: (ctx) => refuse(ctx, 'refuses') })
  app.addRoute(
    'a',
    route({ method: 'POST', path: '/x', use: ['guard'], body: Type.Object({}), handler: () => (steps.push('handler'), {}) }),
  )
  app.addRoute('a', route({ method: 'GET', path: '/private', use: ['refuses'], handler: () => ({}) }))
  app.compile()
  const phasesOf = async (path: string, method: 'GET' | 'POST' = 'GET', body?: unknown): Promise<readonly string[]> => {
    steps.length = 0
    await app.inject({ method, path, ...(body === undefined ? {} : { body }) })
    return [...steps]
  }
  const first = ['early', 'limits', 'global']
  assert.deepEqual(await phasesOf('/x', 'POST', {}), [...first, 'guard', 'guarded', 'parsed with input', 'handler'])
  assert.deepEqual(await phasesOf('/x', 'POST', []), [...first, 'guard', 'guarded', 'parsed with input'], 'the body is not valid')
  assert.deepEqual(await phasesOf('/private'), first, 'the guard refuses')
  assert.deepEqual(await phasesOf('/nowhere'), first)
  assert.deepEqual(await phasesOf('/live'), [])
})

test('a middleware that calls next twice fails the request', async (t) => {
  const { app, failures } = makeApp(t, [hello])
  app.addGlobal('bad', async (_ctx, next) => {
    await next()
    await next()
  })
  app.compile()
  assert.equal((await app.inject({ path: '/hello' })).status, 500)
  assert.match(failures[0]?.error.message ?? '', /next\(\) was called more than once/)
})

test('a middleware cannot reroute a request by rewriting its url', async (t) => {
  const { app } = makeApp(t, [hello, { ...hello, path: '/other', handler: () => ({ other: true }) }])
  app.addGlobal('rewrite', (ctx, next) => {
    ctx.url = '/other'
    return next()
  })
  app.compile()
  assert.deepEqual((await app.inject({ path: '/hello' })).body, { hello: true })
})

test('the request context carries request id, route and a user id that middleware sets', async (t) => {
  const { app } = makeApp(t, [], { trustedProxies: 1 })
  app.addMiddleware('jwt', {
    key: 'auth',
    handler: async (_ctx, next) => {
      const context = requestContext()
      assert.ok(context)
      context.userId = 'u1'
      await next()
    },
  })
  app.addRoute('a', {
    ...hello,
    use: ['auth'],
    handler: async () => {
      await new Promise((resolve) => setImmediate(resolve))
      const context = requestContext()
      return { user: context?.userId, id: context?.requestId, path: context?.route?.path, plugin: context?.route?.plugin }
    },
  })
  app.compile()
  const responses = await Promise.all(
    ['request-1', 'request-2'].map((id) => app.inject({ path: '/hello', headers: { 'x-request-id': id } })),
  )
  assert.deepEqual(
    responses.map((response) => response.body),
    ['request-1', 'request-2'].map((id) => ({ user: 'u1', id, path: '/hello', plugin: 'a' })),
  )
  assert.equal(requestContext(), undefined)
})

test('forwarded addresses count from the trusted end, and not at all without trusted proxies', async (t) => {
  const ip = route({ method: 'GET', path: '/ip', handler: (ctx) => ({ ip: ctx.ip, protocol: ctx.protocol, host: ctx.host }) })
  const headers = { 'x-forwarded-for': '6.6.6.6, 10.0.0.1, 10.0.0.2', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.test' }
  const ask = async (trustedProxies: number) =>
    (await makeApp(t, [ip], { trustedProxies }).app.inject({ path: '/ip', headers, remoteAddress: '10.9.9.9' })).body
  assert.deepEqual(await ask(0), { ip: '10.9.9.9', protocol: 'http', host: 'localhost' })
  assert.equal((await ask(1)).ip, '10.0.0.2')
  assert.equal((await ask(2)).ip, '10.0.0.1')
})

test('the host and the protocol are those of the outermost trusted proxy', async (t) => {
  const seen = route({ method: 'GET', path: '/seen', handler: (ctx) => ({ protocol: ctx.protocol, host: ctx.host }) })
  const headers = { 'x-forwarded-proto': 'http, https, http', 'x-forwarded-host': 'evil.test, outer.test, inner.test' }
  const ask = async (trustedProxies: number) => (await makeApp(t, [seen], { trustedProxies }).app.inject({ path: '/seen', headers })).body
  assert.deepEqual(await ask(1), { protocol: 'http', host: 'inner.test' })
  assert.deepEqual(await ask(2), { protocol: 'https', host: 'outer.test' })
  const odd = await makeApp(t, [seen], { trustedProxies: 1 }).app.inject({ path: '/seen', headers: { 'x-forwarded-proto': 'javascript' } })
  assert.equal((odd.body as { protocol: string }).protocol, 'http')
})

test('the log and the hooks get no path that contains personal data', async (t) => {
  const fails = route({
    method: 'GET',
    path: '/people/:id',
    privatePath: true,
    handler: () => {
      throw new Error('planted')
    },
  })
  const failed: string[] = []
  const { app, log } = makeApp(t, [fails], { logRequests: true, onError: (_error, { path }) => void failed.push(path) })
  assert.equal((await app.inject({ path: '/people/ann-4711' })).status, 500)
  await app.close()
  assert.deepEqual(failed, ['/people/:id'])
  assert.match(log.text(), /people\/:id/)
  assert.doesNotMatch(log.text(), /ann-4711/)
})

test('the log gets no personal data of a path that is almost a private one', async (t) => {
  const person = route({ method: 'GET', path: '/people/:id', privatePath: true, handler: () => 1 })
  const { app, log } = makeApp(t, [person], { logRequests: true })
  const paths = [
    '/people/ann-4711/',
    '/people/ann-4711/exports',
    '//people/ann-4711',
    '/PEOPLE/ann-4711/x',
    '/p%65ople/ann-4711/x',
    '/people/ann-4711%zz',
  ]
  for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE'])
    for (const path of [...paths, '/people/ann-4711']) await app.inject({ method, path })
  await app.inject({ path: '/elsewhere' })
  await app.close()
  assert.equal(log.lines.length, 4 * (paths.length + 1) + 1)
  assert.doesNotMatch(log.text(), /ann-4711/)
  assert.match(log.text(), /\/people\/…/)
  assert.match(log.text(), /\/elsewhere/)
})

test('each request is one line in the log, without its query; probes are logged at debug', async (t) => {
  const probe = { ...hello, path: '/live', probe: true }
  const requestLines = async (options: Parameters<typeof makeApp>[2]) => {
    const { app, log } = makeApp(t, [hello, probe], { logRequests: true, ...options })
    await app.inject({ path: '/live' })
    await app.inject({ path: '/hello?token=secret', headers: { 'x-request-id': 'request-1' } })
    await app.inject({ path: '/none', headers: { 'x-request-id': 'not well formed' } })
    await app.close()
    assert.doesNotMatch(log.text(), /secret|well formed/)
    return log.lines
  }
  const lines = await requestLines({})
  const [first, second] = lines
  assert.deepEqual(
    lines.map(({ level, method, path, status, bytes, complete, msg }) => [level, method, path, status, bytes, complete, msg]),
    [
      ['info', 'GET', '/hello', 200, 14, true, 'request'],
      ['info', 'GET', '/none', 404, second?.bytes, true, 'request'],
    ],
  )
  assert.equal(typeof first?.ms, 'number')
  assert.ok(Number(second?.bytes) > 14)
  assert.match(String(first?.requestId), /^[\da-f-]{36}$/)
  assert.deepEqual([first?.clientRequestId, second?.clientRequestId], ['request-1', undefined])
  const [trusted] = await requestLines({ trustedProxies: 1 })
  assert.deepEqual([trusted?.requestId, trusted?.clientRequestId], ['request-1', undefined])
  assert.deepEqual(
    (await requestLines({ level: 'debug' })).map(({ level, path }) => [level, path]),
    [
      ['debug', '/live'],
      ['info', '/hello'],
      ['info', '/none'],
    ],
  )
  assert.deepEqual(await requestLines({ level: 'warn' }), [])
  assert.deepEqual(await requestLines({ logRequests: false }), [])
})

test('two apps in one process are isolated', async (t) => {
  const first = makeApp(t, [hello])
  const second = makeApp(t, [{ ...hello, path: '/other' }])
  assert.equal((await first.app.inject({ path: '/other' })).status, 404)
  assert.equal((await second.app.inject({ path: '/other' })).status, 200)
})
