import type { Context } from 'koa'
import { defineRoute, type Route } from 'zin'
import type { Asset } from './assets.js'
import { bootResponse, pluginsResponse, workersQuery, workersResponse } from './schema.js'
import { assetResponse } from './send-asset.js'
import type { ConsoleService } from './service.js'
import type { WorkerSearch } from './worker-search.js'

const tag = 'console'

/** Routes for the page, its files, and the APIs that serve the page. */
export function consoleRoutes(service: ConsoleService, search: WorkerSearch): readonly Route[] {
  const page = (path: string): Route =>
    defineRoute({
      method: 'GET',
      path,
      summary: 'The console',
      hidden: true,
      handler: async (ctx) => send(ctx, await service.index(), 'by its place'),
    })
  return [
    page('/console'),
    page('/console/*page'),
    defineRoute({
      method: 'GET',
      path: '/console/assets/:file',
      summary: 'A static file of the console',
      hidden: true,
      handler: async (ctx) => send(ctx, await service.file(ctx.input.params.file), 'by its content'),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/console/boot',
      summary: 'Start-up data of the console: the app, its plugins, and the permissions of the caller',
      tag,
      use: ['monitor'],
      response: { 200: bootResponse },
      handler: (ctx) => service.boot(ctx),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/console/workers',
      summary: 'Find workers by a part of their name, the best matches first',
      tag,
      use: ['ops'],
      query: workersQuery,
      response: { 200: workersResponse },
      handler: ({ input }) => search.find(input.query.q, input.query.limit),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/console/plugins',
      summary: 'The plugins, hooks, routes and settings of this process',
      description: 'Secret values of settings are masked.',
      tag,
      use: ['ops'],
      response: { 200: pluginsResponse },
      handler: () => service.plugins(),
    }),
  ]
}

function send(ctx: Context, asset: Asset, named: Parameters<typeof assetResponse>[2]): void {
  const { body, headers, status } = assetResponse(asset, ctx.req.headers, named)
  ctx.status = status
  ctx.set(headers)
  if (body !== undefined) ctx.body = body
}
