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

/** Refuses a caller who lacks a permission. */
export type Demand = (ctx: RouteContext, permission: string) => void | Promise<void>

const use = ['ops']
const tag = 'workers'
const at = (verb: string) => `/api/workers/:name/canary/${verb}` as const
/** States that a canary only passes through. */
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
        return answer(ctx, await canaries[name](ctx.input.params.name, optionsOf(ctx)))
      },
    })

  return [
    defineRoute({
      method: 'POST',
      path: at('start'),
      summary: 'Give a growing share of the jobs of a worker to a new version, and roll back or promote it by what is seen',
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
        return answer(ctx, await canaries.start(ctx.input.params.name, ctx.input.body as StartCanary, optionsOf(ctx)))
      },
    }),
    verb('pause', 'Freeze the share of a canary; its jobs and the judge go on'),
    verb('resume', 'Let a paused canary go on'),
    verb('promote', 'Go to the next step of a canary at once; from the last one, complete it', 'workers:deploy'),
    verb('complete', 'Give all jobs to the version of a canary, whatever its verdict is', 'workers:deploy'),
    defineRoute({
      method: 'POST',
      path: at('rollback'),
      summary: 'End a canary: all jobs go to the stable version, and the new one is remembered as refused',
      tag,
      use,
      params: nameParams,
      query: rollbackQuery,
      response: { 200: resultResponse, 202: resultResponse },
      handler: async (ctx) => {
        const { params, query } = ctx.input
        const { reason } = query
        return answer(ctx, await canaries.rollback(params.name, { ...optionsOf(ctx), ...(reason === undefined ? {} : { reason }) }))
      },
    }),
    defineRoute({
      method: 'POST',
      path: at('replay'),
      summary: 'Add the jobs that failed for good on the version of a canary to the queue again; they run on the stable version',
      tag,
      use,
      params: nameParams,
      response: { 200: replayResponse },
      handler: async ({ input }) => ({ ok: true, ...(await canaries.replay(input.params.name)) }),
    }),
    defineRoute({
      method: 'GET',
      path: at('status'),
      summary: 'The canary of a worker that is on, else the last one, with its evidence',
      tag,
      use,
      params: nameParams,
      response: { 200: statusResponse },
      handler: async ({ input }) => ({ ok: true, canary: await canaries.status(input.params.name) }),
    }),
    defineRoute({
      method: 'GET',
      path: at('history'),
      summary: 'What a canary went through, and the earlier canaries of its worker',
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

/** 202 while the nodes have not applied it. */
function answer(ctx: { status: number }, result: CanaryResult) {
  ctx.status = passing.includes(result.canary.state) ? 202 : 200
  return { ok: true as const, ...result }
}
