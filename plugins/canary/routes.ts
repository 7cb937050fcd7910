import { defineRoute, type Route, type RouteContext } from 'zin'
import type { Canaries, CanaryOptions, CanaryResult, StartCanary } from './contract.js'
import {
  documentedStart,
  historyResponse,
  nameParams,
  replayResponse,
  resultResponse,
  rollbackQuery,
  startBody,
  statusResponse,
  waitQuery,
} from './schema.js'

/** Throws if the caller lacks a permission. */
export type Demand = (ctx: RouteContext, permission: string) => void | Promise<void>

const use = ['ops']
const tag = 'workers'
const at = (verb: string) => `/api/workers/:name/canary/${verb}` as const
/** Transient states. */
const passing = ['PENDING', 'PROMOTING', 'ROLLING_BACK']

/** Routes for canaries of workers. */
export function canaryRoutes(canaries: Canaries, demand: Demand): readonly Route[] {
  const verb = (name: 'pause' | 'resume' | 'promote' | 'complete', summary: string, permission?: string): Route =>
    defineRoute({
      method: 'POST',
      path: at(name),
      summary,
      tag,
      use,
      params: nameParams,
      query: waitQuery,
      response: { 200: resultResponse, 202: resultResponse },
      handler: async (ctx) => {
        if (permission !== undefined) await demand(ctx, permission)
        return respond(ctx, await canaries[name](ctx.input.params.name, optionsOf(ctx)))
      },
    })

  return [
    defineRoute({
      method: 'POST',
      path: at('start'),
      summary: 'Route a growing share of the jobs of a worker to a new version, and roll it back or promote it automatically',
      tag,
      use,
      params: nameParams,
      query: waitQuery,
      body: startBody,
      documented: { body: documentedStart },
      bodyLimit: 64 * 1024,
      response: { 200: resultResponse, 202: resultResponse },
      handler: async (ctx) => {
        await demand(ctx, 'workers:deploy')
        return respond(ctx, await canaries.start(ctx.input.params.name, ctx.input.body as StartCanary, optionsOf(ctx)))
      },
    }),
    verb('pause', 'Pause a canary: it keeps its share of the jobs and is still evaluated'),
    verb('resume', 'Resume a paused canary'),
    verb('promote', 'Move a canary to its next step immediately; in the last step, complete it', 'workers:deploy'),
    verb('complete', 'Give all jobs to the new version of a canary, whatever the verdict', 'workers:deploy'),
    defineRoute({
      method: 'POST',
      path: at('rollback'),
      summary: 'Roll back a canary: all jobs go to the stable version, and the new version is marked as refused',
      tag,
      use,
      params: nameParams,
      query: rollbackQuery,
      response: { 200: resultResponse, 202: resultResponse },
      handler: async (ctx) => {
        const { params, query } = ctx.input
        const { reason } = query
        return respond(ctx, await canaries.rollback(params.name, { ...optionsOf(ctx), ...(reason === undefined ? {} : { reason }) }))
      },
    }),
    defineRoute({
      method: 'POST',
      path: at('replay'),
      summary: 'Add the jobs that failed permanently on the new version to the queue again; they run on the stable version',
      tag,
      use,
      params: nameParams,
      response: { 200: replayResponse },
      handler: async ({ input }) => ({ ok: true, ...(await canaries.replay(input.params.name)) }),
    }),
    defineRoute({
      method: 'GET',
      path: at('status'),
      summary: 'The active canary of a worker, else the last one, with its evidence',
      tag,
      use,
      params: nameParams,
      response: { 200: statusResponse },
      handler: async ({ input }) => ({ ok: true, canary: await canaries.status(input.params.name) }),
    }),
    defineRoute({
      method: 'GET',
      path: at('history'),
      summary: 'The history of a canary, and the earlier canaries of its worker',
      tag,
      use,
      params: nameParams,
      response: { 200: historyResponse },
      handler: async ({ input }) => ({ ok: true, ...(await canaries.history(input.params.name)) }),
    }),
  ]
}

function optionsOf({ input }: { readonly input: { readonly query: { readonly wait: number } } }): CanaryOptions {
  return { waitMs: input.query.wait }
}

/** Responds with 202 if not every node has applied the change yet. */
function respond(ctx: { status: number }, result: CanaryResult) {
  ctx.status = passing.includes(result.canary.state) ? 202 : 200
  return { ok: true as const, ...result }
}
