import type { Context } from 'koa'
import { defineRoute, type Route } from 'zin'
import type { HealthResponse } from './bodies.js'
import type { Form, Health } from './health.js'
import { liveResponse, overallResponse, readyResponse, startupResponse } from './schema.js'

const draftType = 'application/health+json'

/** The health endpoints. They respond before the host check, authentication and body parsing; HEAD works like GET. */
export function healthRoutes(health: Health): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/health',
      summary: 'Overall health with a database ping',
      probe: true,
      response: overallResponse,
      handler: async (ctx) => send(ctx, await health.overall(formOf(ctx))),
    }),
    defineRoute({
      method: 'GET',
      path: '/health/live',
      summary: 'Liveness: always 200, runs no checks',
      probe: true,
      response: liveResponse,
      handler: (ctx) => {
        send(ctx, { status: 200, body: health.live(formOf(ctx)) })
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/health/ready',
      summary: 'Readiness: database, cache and the checks of other plugins',
      probe: true,
      response: readyResponse,
      handler: async (ctx) => send(ctx, await health.ready(formOf(ctx))),
    }),
    defineRoute({
      method: 'GET',
      path: '/health/startup',
      summary: 'Startup: 503 until the boot is done, then 200',
      probe: true,
      response: startupResponse,
      handler: async (ctx) => send(ctx, await health.startup(formOf(ctx))),
    }),
  ]
}

function formOf(ctx: Context): Form {
  if (ctx.req.headers.accept?.includes(draftType) !== true) return 'plain'
  ctx.type = draftType
  return 'draft'
}

function send(ctx: Context, { status, body }: HealthResponse): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.status = status
  ctx.body = body
}
