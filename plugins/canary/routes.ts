import { defineRoute, type Route, type RouteContext } from 'zin'
import { withoutErrorMessages } from 'zin/plugins/decisions'
import type { Ops } from 'zin/plugins/ops'
import type { Canaries, CanaryOptions, CanaryResult, StartCanary } from './contract.js'
import {
  documentedStart,
  historyResponse,
  nameParams,
  replayQuery,
  replayResponse,
  resultResponse,
  rollbackQuery,
  startBody,
  statusResponse,
  waitQuery,
} from './schema.js'

const use = ['ops']
const tag = 'workers'
const at = (verb: string) => `/api/workers/:name/canary/${verb}` as const
/** Transient states, in which not every node has applied the change yet. */
const passing = ['PENDING', 'PROMOTING', 'ROLLING_BACK']

/** Routes for canaries of workers. */
export function canaryRoutes(canaries: Canaries, ops: Pick<Ops, 'allow' | 'demand'>): readonly Route[] {
  const demand = (ctx: RouteContext, permission: string): void => ops.demand(ctx, permission)
  /** Messages of errors may hold personal data of a payload. */
  const shown = <T>(ctx: RouteContext, body: T): T => (ops.allow(ctx, 'payload:read') ? body : withoutErrorMessages(body))
  const respond = (ctx: RouteContext, result: CanaryResult) => {
    ctx.status = passing.includes(result.canary.state) ? 202 : 200
    return shown(ctx, { ok: true as const, ...result })
  }
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
        if (permission !== undefined) demand(ctx, permission)
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
        demand(ctx, 'workers:deploy')
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
      summary: 'Add the jobs that failed permanently on the new version to the queue again, also those that still run on it and fail later',
      tag,
      use,
      params: nameParams,
      query: replayQuery,
      response: { 200: replayResponse },
      handler: async (ctx) => {
        demand(ctx, 'queues:write')
        return shown(ctx, { ok: true as const, ...(await canaries.replay(ctx.input.params.name, optionsOf(ctx))) })
      },
    }),
    defineRoute({
      method: 'GET',
      path: at('status'),
      summary: 'The active canary of a worker, else the last one, with its evidence',
      tag,
      use,
      params: nameParams,
      response: { 200: statusResponse },
      handler: async (ctx) => shown(ctx, { ok: true as const, canary: await canaries.status(ctx.input.params.name) }),
    }),
    defineRoute({
      method: 'GET',
      path: at('history'),
      summary: 'The history of a canary, and the earlier canaries of its worker',
      tag,
      use,
      params: nameParams,
      response: { 200: historyResponse },
      handler: async (ctx) => shown(ctx, { ok: true as const, ...(await canaries.history(ctx.input.params.name)) }),
    }),
  ]
}

function optionsOf({ input }: { readonly input: { readonly query: { readonly wait: number } } }): CanaryOptions {
  return { waitMs: input.query.wait }
}
