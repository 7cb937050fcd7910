import { Readable } from 'node:stream'
import { definePlugin, defineRoute, EventStreams, type Route } from 'zin'

const get = { method: 'GET', summary: 'x' } as const

/** Routes with everything that a response can be, for plugins that set headers on all of them. */
export const responseRoutes: readonly Route[] = [
  defineRoute({ ...get, path: '/json', handler: () => ({ ok: true }) }),
  defineRoute({ method: 'PUT', path: '/guarded', summary: 'x', use: ['closed'], handler: () => ({ ok: true }) }),
  defineRoute({ ...get, path: '/text', handler: () => 'text' }),
  defineRoute({ ...get, path: '/nothing', handler: () => undefined }),
  defineRoute({ ...get, path: '/stream', handler: () => Readable.from(['a', 'b']) }),
  defineRoute({
    ...get,
    path: '/broken-stream',
    handler: () =>
      new Readable({
        read() {
          this.destroy(new Error('the disk is gone'))
        },
      }),
  }),
  defineRoute({ ...get, path: '/redirect', handler: (ctx) => ctx.redirect('/json') }),
  defineRoute({ ...get, path: '/cookie', handler: (ctx) => void ctx.cookies.set('a', 'b') }),
  defineRoute({
    ...get,
    path: '/raw',
    handler: (ctx) => {
      ctx.respond = false
      ctx.res.writeHead(200, { 'content-type': 'text/plain' }).end('raw')
    },
  }),
  defineRoute({
    ...get,
    path: '/varied',
    handler: (ctx) => {
      ctx.vary('Accept-Language')
      return { ok: true }
    },
  }),
  defineRoute({
    ...get,
    path: '/fails',
    handler: () => {
      throw new Error('no')
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/body',
    summary: 'x',
    body: { type: 'object', required: ['name'] },
    bodyLimit: 20,
    handler: () => ({ ok: true }),
  }),
]

/** What {@link responseRoutes} needs: a middleware that lets nothing through, and event streams. Its name sorts before those of other plugins. */
export const responseGuards = definePlugin({
  name: 'a-guards',
  version: '1.0.0',
  setup(ctx) {
    const streams = new EventStreams()
    ctx.hooks.on('onClose', () => streams.closeAll())
    ctx.middleware({ key: 'closed', handler: (request) => request.throw(403, 'closed') })
    ctx.use((request, next) => (request.get('x-closed') === 'yes' ? request.throw(403, 'closed') : next()))
    ctx.route({ ...get, path: '/events', handler: (request) => void streams.open(request, () => undefined).close() })
  },
})

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const post = (body: string, type = 'application/json'): Sent => ({ method: 'POST', body, headers: { 'content-type': type } })

/** A request for each kind of response, also for those that no route gives. `/health/live` is of the plugin health. */
export const responses: readonly (readonly [what: string, path: string, status: number, init?: Sent])[] = [
  ['JSON', '/json', 200],
  ['the head of JSON', '/json', 200, { method: 'HEAD' }],
  ['text', '/text', 200],
  ['an empty response', '/nothing', 204],
  ['a stream', '/stream', 200],
  ['an event stream', '/events', 200],
  ['a stream that fails', '/broken-stream', 500],
  ['a redirect', '/redirect', 302],
  ['a response with a cookie', '/cookie', 204],
  ['a response that the handler writes itself', '/raw', 200],
  ['a response that varies by other headers, too', '/varied', 200],
  ['an error of a handler', '/fails', 500],
  ['the refusal of a guard', '/guarded', 403, { method: 'PUT' }],
  ['the refusal of global middleware', '/json', 403, { headers: { 'x-closed': 'yes' } }],
  ['an unknown path', '/unknown', 404],
  ['an unknown method', '/json', 405, { method: 'DELETE' }],
  ['an invalid body', '/body', 400, post('{}')],
  ['a body that is no JSON', '/body', 400, post('{')],
  ['a body that is too large', '/body', 413, post(`"${'x'.repeat(50)}"`)],
  ['a body of another type', '/body', 415, post('a,b', 'text/csv')],
  ['another app', '/json', 421, { headers: { 'x-zin-app': 'other' } }],
  ['a probe', '/health/live', 200],
]
