import type { Context } from 'koa'
import { defineRoute, type Route } from 'zin'
import type { Scope } from '../access/scope.js'
import type { Alerts } from '../alerts/alerts.js'
import type { ListedStatus } from '../contract.js'
import { jobParams, listed, onlyQueue, queueParams } from '../schema/common.js'
import {
  alertsResponse,
  attemptsResponse,
  decisionsQuery,
  decisionsResponse,
  entry,
  fieldsResponse,
  flowResponse,
  historyQuery,
  historyResponse,
  job,
  jobQuery,
  listQuery,
  listResponse,
  logsQuery,
  logsResponse,
  searchQuery,
  searchResponse,
  statsResponse,
} from '../schema/reads.js'
import type { MonitorReads } from '../service.js'
import type { StatsStreams } from '../stats-stream.js'

export type ScopeOf = (ctx: Context) => Scope

const use = ['monitor']
const tag = 'queue monitor'

const summaries: Readonly<Record<ListedStatus, string>> = {
  active: 'Running jobs',
  failed: 'Retained failed jobs',
  completed: 'Retained completed jobs',
  waiting: 'Jobs that are ready to run',
  delayed: 'Jobs that are delayed',
}

/** By `include`: whether details contain the payload. */
const wanted = { default: 'allowed', payload: true, none: false, '': false } as const

/** Routes for statistics, lists and jobs. */
export function readRoutes(monitor: MonitorReads, alerts: Alerts, streams: StatsStreams, scopeOf: ScopeOf): readonly Route[] {
  const list = (status: ListedStatus): Route =>
    defineRoute({
      method: 'GET',
      path: `/api/jobs/${status}`,
      summary: summaries[status],
      tag,
      use,
      query: listQuery,
      response: { 200: listResponse },
      handler: (ctx) => {
        const { include, ...query } = ctx.input.query
        return monitor.jobs(status, { ...query, payload: include === 'payload' }, scopeOf(ctx))
      },
    })

  return [
    defineRoute({
      method: 'GET',
      path: '/api/queue/stats',
      summary: 'Statistics of all queues, at most a few seconds old',
      tag,
      use,
      response: { 200: statsResponse },
      handler: (ctx) => monitor.stats(scopeOf(ctx)),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/queue/:name/stats',
      summary: 'Statistics of a queue',
      tag,
      use,
      params: queueParams,
      response: { 200: entry },
      handler: (ctx) => monitor.queueStats(ctx.input.params.name, scopeOf(ctx)),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/queue/:name/history',
      summary: 'History of a queue by minutes (2 h), hours (7 days) or days (90 days), oldest first',
      tag,
      use,
      params: queueParams,
      query: historyQuery,
      response: { 200: historyResponse },
      handler: async (ctx) => {
        const { params, query } = ctx.input
        return { queue: params.name, tier: query.tier, points: await monitor.history(params.name, query.tier, scopeOf(ctx)) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/queue/:name/fields',
      summary: 'Searchable data fields of the jobs of a queue, for data.<path>:… in a search',
      tag,
      use,
      params: queueParams,
      response: { 200: fieldsResponse },
      handler: (ctx) => monitor.fields(ctx.input.params.name, scopeOf(ctx)) as never,
    }),
    defineRoute({
      method: 'GET',
      path: '/api/queue/events',
      summary: 'Statistics of all queues every two seconds, as server-sent events',
      description: 'Events are named stats, with the body of /api/queue/stats, or unavailable, with {code, message}.',
      tag,
      use,
      handler: (ctx) => streams.open(ctx, scopeOf(ctx)),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/queue/alerts',
      summary: 'Active alerts of all queues',
      tag,
      use,
      response: { 200: alertsResponse },
      handler: async (ctx) => ({ alerts: await alerts.active(scopeOf(ctx)) }),
    }),
    ...listed.map(list),
    defineRoute({
      method: 'GET',
      path: '/api/jobs',
      summary: 'Search jobs by id, name, error and declared data fields; the response reports its coverage',
      tag,
      use,
      query: searchQuery,
      response: { 200: searchResponse },
      handler: (ctx) => monitor.search(ctx.input.query, scopeOf(ctx)) as never,
    }),
    defineRoute({
      method: 'GET',
      path: '/api/jobs/:id',
      summary: 'Details of a job',
      tag,
      use,
      params: jobParams,
      query: jobQuery,
      response: { 200: job },
      handler: (ctx) => {
        const { params, query } = ctx.input
        return monitor.job(params.id, { ...named(query.queue), payload: wanted[query.include ?? 'default'] }, scopeOf(ctx))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/jobs/:id/payload',
      summary: 'Download the complete redacted payload of a job as JSON; requires payload:read',
      tag,
      use,
      params: jobParams,
      query: onlyQueue,
      handler: async (ctx) => {
        const { name, text } = await monitor.download(ctx.input.params.id, ctx.input.query.queue, scopeOf(ctx))
        ctx.set('Content-Type', 'application/json; charset=utf-8')
        ctx.set('Content-Disposition', `attachment; filename="${name}.json"`)
        ctx.set('X-Content-Type-Options', 'nosniff')
        ctx.body = text
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/jobs/:id/attempts',
      summary: 'Finished attempts of a job, with version, node and duration',
      tag,
      use,
      params: jobParams,
      query: onlyQueue,
      response: { 200: attemptsResponse },
      handler: (ctx) => monitor.attempts(ctx.input.params.id, ctx.input.query.queue, scopeOf(ctx)) as never,
    }),
    defineRoute({
      method: 'GET',
      path: '/api/queue/:name/decisions',
      summary: 'Automatic decisions about a queue, newest first',
      tag,
      use,
      params: queueParams,
      query: decisionsQuery,
      response: { 200: decisionsResponse },
      handler: (ctx) => monitor.decisions(ctx.input.params.name, ctx.input.query, scopeOf(ctx)) as never,
    }),
    defineRoute({
      method: 'GET',
      path: '/api/jobs/:id/flow',
      summary: 'The flow of a job, starting at the root job; at most 300 jobs',
      tag,
      use,
      params: jobParams,
      query: onlyQueue,
      response: { 200: flowResponse },
      handler: (ctx) => monitor.flow(ctx.input.params.id, ctx.input.query.queue, scopeOf(ctx)),
    }),
    defineRoute({
      method: 'GET',
      path: '/api/jobs/:id/logs',
      summary: 'Log lines of a job, from either end; requires payload:read',
      tag,
      use,
      params: jobParams,
      query: logsQuery,
      response: { 200: logsResponse },
      handler: (ctx) => {
        const { limit, offset, queue } = ctx.input.query
        return monitor.logs(ctx.input.params.id, queue, { offset, limit }, scopeOf(ctx)) as never
      },
    }),
  ]
}

function named(queue: string | undefined): { readonly queue?: string } {
  return queue === undefined ? {} : { queue }
}
