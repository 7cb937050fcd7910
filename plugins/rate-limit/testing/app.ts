import { defineMiddleware, definePlugin, refuse } from 'zin'
import type { TestHost } from 'zin/testing'

/** Routes for tests: `/open`, and `/mine` for callers with the header `x-user`, `/keyed` for those with a valid `x-api-key`. */
export const routes = definePlugin({
  name: 'routes',
  version: '1.0.0',
  setup(ctx) {
    ctx.middleware(
      defineMiddleware({
        key: 'known',
        handler: (request, next) => {
          const sub = request.get('x-user')
          if (sub === '') return refuse(request, 'known')
          Object.assign(request.state, { user: { sub, deviceId: request.get('x-device') || undefined } })
          return next()
        },
      }),
    )
    ctx.middleware(
      defineMiddleware({
        key: 'keyed',
        security: [{ apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' } }],
        handler: (request, next) => (request.get('x-api-key').startsWith('valid') ? next() : refuse(request, 'keyed')),
      }),
    )
    const route = (path: string, use: readonly string[] = []) =>
      ctx.route({ method: 'GET', path, summary: 'For tests', use, handler: () => ({ ok: true }) })
    route('/open')
    route('/mine', ['known'])
    route('/keyed', ['keyed'])
    ctx.route({ method: 'POST', path: '/open', summary: 'For tests', handler: ({ input }) => input.body })
    ctx.route({ method: 'GET', path: '/live', summary: 'For tests', probe: true, handler: () => ({ ok: true }) })
  },
})

/** Adds routes with limits of their own: `limits` by path. */
export const limited = (uses: Readonly<Record<string, readonly string[]>>) =>
  definePlugin({
    name: 'limited',
    version: '1.0.0',
    setup(ctx) {
      for (const [path, use] of Object.entries(uses))
        ctx.route({ method: 'GET', path, summary: 'For tests', use, handler: () => ({ ok: true }) })
    },
  })()

export interface Sent {
  readonly path?: string
  readonly method?: string
  readonly from?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends `times` requests in turn and returns their statuses. */
export async function statuses(host: TestHost, times: number, { path = '/open', method = 'GET', from, headers }: Sent = {}) {
  const all: number[] = []
  for (let i = 0; i < times; i++) {
    const request = { method, path, ...(headers && { headers }), ...(from !== undefined && { remoteAddress: from }) }
    all.push((await host.inject(request)).status)
  }
  return all
}
