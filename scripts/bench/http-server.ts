import { randomBytes, randomUUID } from 'node:crypto'
import { Router } from '@koa/router'
import { Ajv } from 'ajv'
import Fastify from 'fastify'
import jsonwebtoken from 'jsonwebtoken'
import Koa, { type Context, type Next } from 'koa'
import { pino } from 'pino'
import { defineMiddleware, definePlugin } from 'zin'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { plainEnv } from '../../core/config/read-settings.js'
import { Host } from '../../core/host/host.js'
import { createLogger } from '../../core/log/logger.js'

// A server for bench/http.ts: `bare` Koa, `koa` with its router, `fastify` or `zin`, each as in production. The second argument is how it logs requests:
// `silent`, `json` or `text`, to /dev/null, so that the disk is not measured. It sends its parent the port and a token, answers `cpu` with the
// CPU time that it has used, and serves until the parent ends it.

const hello = (): object => ({ hello: 'world', at: new Date().toISOString() })
const orderSchema = {
  type: 'object',
  required: ['product', 'amount'],
  properties: { product: { type: 'string', maxLength: 100 }, amount: { type: 'integer', minimum: 1 }, note: { type: 'string' } },
} as const
interface Order {
  readonly product: string
  readonly amount: number
}
const placed = ({ product, amount }: Order): object => ({ ok: true, product, amount })
/** About 20 kB of JSON. */
const items = Array.from({ length: 200 }, (_, i) => ({
  id: i,
  name: `item ${i}`,
  price: i * 1.5,
  tags: ['a', 'b'],
  description: 'x'.repeat(35),
}))
const user = { sub: '7', email: 'ada@example.com', role: 'admin' }

interface Started {
  readonly port: number
  readonly token: string
}

const key = randomBytes(32)
const names = { issuer: 'bench', audience: 'bench' }
const issued = (): string => jsonwebtoken.sign(user, key, { ...names, expiresIn: 3600, jwtid: randomUUID() })
const verified = (header: string | undefined): unknown =>
  jsonwebtoken.verify(header?.slice(7) ?? '', key, { ...names, algorithms: ['HS256'] })

async function startKoa(): Promise<Started> {
  const koa = new Koa({ env: 'production' })
  const router = new Router()
  const validate = new Ajv().compile(orderSchema)
  // Untyped: its types would add other `files` to every request.
  const { koaBody } = (await import('koa-body' as string)) as { readonly koaBody: () => Koa.Middleware }
  const parse = koaBody()
  router.get('/hello', (ctx) => {
    ctx.body = hello()
  })
  router.get('/users/:id', (ctx) => {
    ctx.body = { id: ctx.params.id }
  })
  router.post('/orders', parse, (ctx) => {
    const { body } = ctx.request as unknown as { readonly body: unknown }
    if (validate(body)) ctx.body = placed(body as Order)
    else ctx.throw(400, 'invalid')
  })
  const step = (_ctx: Context, next: Next): Promise<unknown> => next()
  const auth = (ctx: Context, next: Next): Promise<unknown> => {
    ctx.state.user = verified(ctx.get('authorization'))
    return next()
  }
  router.get('/guarded', step, step, auth, (ctx) => {
    ctx.body = { user: ctx.state.user }
  })
  router.get('/items', (ctx) => {
    ctx.body = items
  })
  koa.use(router.routes()).use(router.allowedMethods())
  const server = koa.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return { port: (server.address() as { port: number }).port, token: issued() }
}

async function startFastify(logs: boolean): Promise<Started> {
  const loggerInstance = logs ? { loggerInstance: pino({ level: 'info' }, pino.destination('/dev/null')) } : {}
  const app = Fastify(loggerInstance)
  app.get('/hello', async () => hello())
  app.get<{ Params: { id: string } }>('/users/:id', async (request) => ({ id: request.params.id }))
  app.post<{ Body: Order }>('/orders', { schema: { body: orderSchema } }, async (request) => placed(request.body))
  const step = async (): Promise<void> => undefined
  const auth = async (request: { readonly headers: { readonly authorization?: string | undefined } }): Promise<void> => {
    Object.assign(request, { user: verified(request.headers.authorization) })
  }
  app.get('/guarded', { preHandler: [step, step, auth] }, async (request) => ({ user: (request as unknown as { user: unknown }).user }))
  app.get('/items', async () => items)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { port: (app.server.address() as { port: number }).port, token: issued() }
}

const steps = definePlugin({
  name: 'steps',
  version: '1.0.0',
  setup(ctx) {
    for (const step of ['one', 'two']) ctx.middleware(defineMiddleware({ key: step, handler: (_ctx, next) => next() }))
  },
})

async function startZin(logs: 'silent' | 'json' | 'text'): Promise<Started> {
  const log = createLogger({
    level: 'info',
    channel: 'file',
    format: logs === 'text' ? 'text' : 'json',
    name: 'bench',
    destination: '/dev/null',
  })
  const host = new Host(
    {
      plugins: [jwt(), steps()],
      routes: [
        { method: 'GET', path: '/hello', summary: 'Hello', handler: hello },
        { method: 'GET', path: '/users/:id', summary: 'A user', handler: (ctx) => ({ id: ctx.params.id }) },
        { method: 'POST', path: '/orders', summary: 'Order', body: orderSchema, handler: (ctx) => placed(ctx.input.body as Order) },
        { method: 'GET', path: '/guarded', summary: 'Guarded', use: ['one', 'two', 'auth'], handler: (ctx) => ({ user: ctx.state.user }) },
        { method: 'GET', path: '/items', summary: 'Items', handler: () => items },
      ],
    },
    {
      rootDir: process.argv[4] ?? '',
      env: plainEnv({
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        PORT: '0',
        LOG_REQUESTS: String(logs !== 'silent'),
        ZIN_DATA_DIR: process.argv[4] ?? '',
        APP_KEY: randomBytes(32).toString('base64url'),
      }),
      log,
    },
  )
  const address = await host.start({ listen: true })
  const { token } = await host.service(tokensService).issue(user)
  return { port: address?.port ?? 0, token }
}

/** Koa without a router. */
async function startBare(): Promise<Started> {
  const koa = new Koa({ env: 'production' })
  koa.use((ctx) => {
    if (ctx.method === 'GET' && ctx.path === '/hello') ctx.body = hello()
  })
  const server = koa.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return { port: (server.address() as { port: number }).port, token: '' }
}

const [, , kind, logs = 'silent'] = process.argv
process.on('disconnect', () => process.exit())
process.on('message', () => {
  const { user: inUser, system } = process.cpuUsage()
  process.send?.({ cpuMs: (inUser + system) / 1000, rss: process.memoryUsage.rss() })
})
const start: Readonly<Record<string, () => Promise<Started>>> = {
  bare: startBare,
  koa: startKoa,
  fastify: () => startFastify(logs !== 'silent'),
  zin: () => startZin(logs as 'silent' | 'json' | 'text'),
}
process.send?.(await start[kind ?? '']?.())
