import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import cors from '@koa/cors'
import Koa, { type Context, type Middleware } from 'koa'
import compress from 'koa-compress'
import helmet from 'koa-helmet'
import session from 'koa-session'
import serveStatic from 'koa-static'
import { type InjectRequest, type InjectResponse, inject } from './inject.js'
import { listen, makeApp, route } from './test-support.js'

// Middleware of other people, from the registry: what it does to a response of Zin is what it does to one of Koa.

const handlers: Readonly<Record<string, (ctx: Context) => unknown>> = {
  '/json': () => ({ hello: 'world', list: Array.from({ length: 300 }, (_, i) => ({ i })) }),
  '/text': () => 'some text',
  '/status': (ctx) => {
    ctx.status = 201
    return { created: true }
  },
  '/header': (ctx) => {
    ctx.set('X-Own', 'yes')
    return { own: true }
  },
  '/nothing': () => undefined,
  '/raw': (ctx) => {
    ctx.res.setHeader('X-Raw', 'yes')
    return { raw: true }
  },
  '/ok': (ctx) => {
    ctx.status = 200
  },
  '/chunked': (ctx) => {
    ctx.set('Transfer-Encoding', 'chunked')
    return { chunked: true }
  },
  '/vary': (ctx) => {
    ctx.vary('Accept')
    ctx.vary('*')
    return { vary: true }
  },
  '/assigned': (ctx) => {
    const { res, request, response } = ctx
    Object.assign(ctx, { res, request, response })
    Object.assign(request, { res, response })
    Object.assign(response, { res, request })
    return { assigned: ctx.res === res && ctx.request === request && request.response === response && response.request === request }
  },
  '/response': () => new Response('of the web', { headers: { 'X-Web': 'yes' } }),
  '/web-stream': () => new Blob(['a stream of the web']).stream(),
  '/visits': (ctx) => {
    const { session: own } = ctx as unknown as { readonly session: { visits?: number } }
    own.visits = (own.visits ?? 0) + 1
    return { visits: own.visits }
  },
}

interface Case {
  readonly name: string
  readonly use: (folder: string) => Middleware
  readonly requests: readonly InjectRequest[]
}

const paths = Object.keys(handlers)
  .filter((path) => path !== '/visits')
  .map((path): InjectRequest => ({ path }))

/** koa-session adds its accessors to the app that serves the request. */
function sessions(): Middleware {
  let made: Middleware | undefined
  return (ctx, next) => {
    made ??= session({ signed: false }, ctx.app as unknown as Koa) as unknown as Middleware
    return made(ctx, next)
  }
}

const cases: readonly Case[] = [
  { name: 'nothing', use: () => (_ctx, next) => next(), requests: paths },
  { name: 'koa-helmet', use: () => helmet() as unknown as Middleware, requests: paths },
  {
    name: '@koa/cors',
    use: () => cors({ credentials: true }) as unknown as Middleware,
    requests: [
      ...paths.map((request) => ({ ...request, headers: { origin: 'https://shop.example' } })),
      { path: '/json', method: 'OPTIONS', headers: { origin: 'https://shop.example', 'access-control-request-method': 'PUT' } },
    ],
  },
  {
    name: 'koa-compress',
    use: () => compress({ threshold: 1 }) as unknown as Middleware,
    requests: paths.map((request) => ({ ...request, headers: { 'accept-encoding': 'gzip' } })),
  },
  {
    name: 'koa-session',
    use: sessions,
    requests: [
      { path: '/visits' },
      { path: '/visits', headers: { cookie: 'koa.sess=eyJ2aXNpdHMiOjQsIl9leHBpcmUiOjQxMDI0NDQ4MDAwMDAsIl9tYXhBZ2UiOjg2NDAwMDAwfQ==' } },
    ],
  },
  { name: 'koa-static', use: (folder) => serveStatic(folder) as unknown as Middleware, requests: [...paths, { path: '/file.txt' }] },
  {
    name: 'one that reads what the handler set',
    use: () => async (ctx, next) => {
      await next()
      ctx.set(
        'X-Seen',
        JSON.stringify([ctx.status, ctx.type, ctx.length, typeof ctx.body, ctx.response.is('json'), ctx.response.get('content-type')]),
      )
    },
    requests: paths,
  },
  {
    name: 'one that wraps the body',
    use: () => async (ctx, next) => {
      await next()
      ctx.body = { wrapped: ctx.body }
    },
    requests: paths.slice(0, 4),
  },
  {
    name: 'one that sets a status before the handler',
    use: () => (ctx, next) => {
      ctx.status = 202
      return next()
    },
    requests: paths,
  },
  {
    name: "one that sets a status on Koa's response before the handler",
    use: () => (ctx, next) => {
      ctx.response.status = 202
      return next()
    },
    requests: paths,
  },
  {
    name: "one that sets a status on Node's response before the handler",
    use: () => (ctx, next) => {
      ctx.res.statusCode = 203
      return next()
    },
    requests: paths,
  },
  {
    name: 'one that sets a body before the handler',
    use: () => (ctx, next) => {
      ctx.body = 'the default'
      return next()
    },
    // Koa sends the length of the earlier body with that of the web.
    requests: paths.filter(({ path }) => path !== '/response' && path !== '/web-stream'),
  },
  {
    name: "one that reads Node's response after the handler",
    use: () => async (ctx, next) => {
      await next()
      ctx.res.setHeader('X-Type', String(ctx.res.getHeader('content-type')))
    },
    requests: paths,
  },
  {
    name: 'one that fails after the handler',
    use: () => async (ctx, next) => {
      await next()
      ctx.throw(418, 'no')
    },
    requests: [{ path: '/json' }],
  },
]

/** Headers that belong to the framework or to the moment. */
const own = new Set(['date', 'connection', 'keep-alive', 'x-request-id', 'transfer-encoding'])

/** Errors have Zin's body. */
function seen({ status, headers, text }: InjectResponse): unknown {
  if (status >= 400) return { status }
  const kept = Object.entries(headers).filter(([name]) => !own.has(name))
  return { status, headers: Object.fromEntries(kept), text }
}

async function bare(t: TestContext, use: Middleware): Promise<(request: InjectRequest) => Promise<InjectResponse>> {
  const koa = new Koa({ env: 'production' })
  koa.silent = true
  koa.use(use)
  koa.use((ctx) => {
    const handler = handlers[ctx.path]
    if (handler === undefined || ctx.method === 'OPTIONS') return
    const value = handler(ctx)
    if (value !== undefined) ctx.body = value
    else if (ctx.status === 404 && ctx.body === undefined) ctx.status = 204
  })
  const server = koa.listen(0, '127.0.0.1')
  t.after(() => server.close())
  return (request) => inject((connection) => void server.emit('connection', connection), 'localhost', request)
}

for (const { name, use, requests } of cases) {
  test(`a response after ${name} is as Koa's`, async (t) => {
    // The cookie of a session has its time.
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const folder = mkdtempSync(join(tmpdir(), 'zin-static-'))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'file.txt'), 'a file')
    const koa = await bare(t, use(folder))
    const routes = Object.entries(handlers).map(([path, handler]) => route({ method: 'GET', path, handler: handler as never }))
    const { app } = makeApp(t, routes, { production: true })
    app.addGlobal('test', use(folder))
    app.compile()
    await listen(app)
    for (const request of requests) {
      const answer = await app.inject(request)
      assert.deepEqual(seen(answer), seen(await koa(request)), `${request.method ?? 'GET'} ${request.path}`)
      assert.match(String(answer.headers['x-request-id']), /^[\da-f-]{36}$/)
    }
  })
}

test('a body of the web does not get the length of the body that it replaces', async (t) => {
  const routes = ['/response', '/web-stream'].map((path) => route({ method: 'GET', path, handler: handlers[path] as never }))
  const { app } = makeApp(t, routes)
  app.addGlobal('test', (ctx, next) => {
    ctx.body = 'the default, which is longer than what replaces it'
    return next()
  })
  app.compile()
  assert.equal((await app.inject({ path: '/response' })).text, 'of the web')
  assert.equal((await app.inject({ path: '/web-stream' })).text, 'a stream of the web')
})
