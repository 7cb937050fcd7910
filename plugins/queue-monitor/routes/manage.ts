import { defineRoute, type Route } from 'zin'
import type { AskedJob, JobActions, JobChanges } from '../manage/actions.js'
import type { Deletes } from '../manage/deletes.js'
import type { BulkAction } from '../manage/filter.js'
import type { FlowDryRun } from '../manage/flow-retry.js'
import type { BulkOperation } from '../manage/operation.js'
import type { BulkRequest, DryRun, Operations } from '../manage/operations.js'
import { messageOf } from '../manage/undo.js'
import { jobParams, onlyQueue, queueParams } from '../schema/common.js'
import {
  actionResponse,
  addBody,
  addResponse,
  bulkBody,
  bulkQuery,
  bulkResponse,
  deleteQuery,
  deleteResponse,
  duplicateBody,
  flowRetryBody,
  flowRetryQuery,
  operationParams,
  operationResponse,
  pauseResponse,
  purgeQuery,
} from '../schema/manage.js'
import type { ScopeOf } from './reads.js'

const use = ['monitor']
const tag = 'queue monitor'

const bulkSummaries: Readonly<Record<BulkAction, string>> = {
  retry: 'Retry the failed jobs of a queue that match a filter',
  cancel: 'Cancel the jobs of a queue that match a filter',
  purge: 'Delete the jobs of a queue that match a filter and are not running; requires admin',
}

const bulkDescription =
  'With dryRun, returns the number of matching jobs and up to ten of them. Otherwise returns an operation; 202 while it runs.'

export interface ManageParts {
  readonly actions: JobActions
  readonly deletes: Deletes
  readonly operations: Operations
}

/** Actions on jobs and queues. */
export function manageRoutes({ actions, deletes, operations }: ManageParts, scopeOf: ScopeOf): readonly Route[] {
  const one = (verb: 'retry' | 'cancel' | 'promote', summary: string): Route =>
    defineRoute({
      method: 'POST',
      path: `/api/jobs/:id/${verb}`,
      summary,
      tag,
      use,
      params: jobParams,
      query: onlyQueue,
      response: { 200: actionResponse },
      handler: (ctx) => actions[verb](ctx.input.params.id, ctx.input.query.queue, scopeOf(ctx)),
    })
  const many = (verb: Exclude<BulkAction, 'purge'>): Route =>
    defineRoute({
      method: 'POST',
      path: `/api/queue/:name/${verb}`,
      summary: bulkSummaries[verb],
      description: bulkDescription,
      tag,
      use,
      params: queueParams,
      query: bulkQuery,
      body: bulkBody,
      bodyLimit: 16 * 1024,
      response: { 200: bulkResponse, 202: bulkResponse },
      handler: async (ctx) => {
        const { body, params, query } = ctx.input
        return reply(ctx, await operations.start(verb, params.name, body as BulkRequest, scopeOf(ctx), { waitMs: query.wait }))
      },
    })
  const pause = (verb: 'pause' | 'resume', summary: string): Route =>
    defineRoute({
      method: 'POST',
      path: `/api/queue/:name/${verb}`,
      summary,
      tag,
      use,
      params: queueParams,
      response: { 200: pauseResponse },
      handler: (ctx) => actions.setPaused(ctx.input.params.name, verb === 'pause', scopeOf(ctx)),
    })

  return [
    one('retry', 'Retry a failed job, after the failed jobs below it'),
    defineRoute({
      method: 'POST',
      path: '/api/jobs/:id/flow/retry',
      summary: 'Retry all failed jobs of the flow of a job, leaves first',
      description: 'With dryRun, returns the jobs that would be retried. Otherwise returns an operation; 202 while it runs.',
      tag,
      use,
      params: jobParams,
      query: flowRetryQuery,
      body: flowRetryBody,
      bodyLimit: 16 * 1024,
      response: { 200: bulkResponse, 202: bulkResponse },
      handler: async (ctx) => {
        const { body, params, query } = ctx.input
        return reply(ctx, await operations.retryFlow(params.id, query.queue, { dryRun: body.dryRun === true }, scopeOf(ctx), query.wait))
      },
    }),
    one('cancel', 'Remove a waiting job, or abort a running one on whichever node runs it'),
    one('promote', 'Run a delayed job now'),
    defineRoute({
      method: 'POST',
      path: '/api/jobs/:id/duplicate',
      summary: 'Add a copy of a job, with the same or edited data; requires payload:read',
      description: '[redacted] values in edited data are replaced by the original ones.',
      tag,
      use,
      params: jobParams,
      query: onlyQueue,
      body: duplicateBody,
      response: { 200: addResponse, 201: addResponse },
      handler: async (ctx) => {
        const { body, params, query } = ctx.input
        const added = await actions.duplicate(params.id, query.queue, body as JobChanges, scopeOf(ctx))
        ctx.status = added.deduplicated ? 200 : 201
        return added
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/jobs/:id',
      summary: 'Delete a job that is not running',
      description:
        'Unless now=true, it can be restored for ten minutes, and a job that a flow or schedule depends on is rejected with 409.',
      tag,
      use,
      params: jobParams,
      query: deleteQuery,
      response: { 200: deleteResponse },
      handler: (ctx) => {
        const { now, queue } = ctx.input.query
        return deletes.remove(ctx.input.params.id, queue, { now }, scopeOf(ctx))
      },
    }),
    many('retry'),
    many('cancel'),
    defineRoute({
      method: 'POST',
      path: '/api/queue/:name/purge',
      summary: bulkSummaries.purge,
      description: `${bulkDescription} Unless now=true, the jobs can be restored for ten minutes.`,
      tag,
      use,
      params: queueParams,
      query: purgeQuery,
      body: bulkBody,
      bodyLimit: 16 * 1024,
      response: { 200: bulkResponse, 202: bulkResponse },
      handler: async (ctx) => {
        const { body, params, query } = ctx.input
        const options = { waitMs: query.wait, now: query.now }
        return reply(ctx, await operations.start('purge', params.name, body as BulkRequest, scopeOf(ctx), options))
      },
    }),
    pause('pause', 'Pause a queue: workers take no new jobs from it'),
    pause('resume', 'Resume a paused queue'),
    defineRoute({
      method: 'POST',
      path: '/api/queue/:name/jobs',
      summary: 'Add a job to a queue; 200 if one with its jobId or deduplication id exists',
      tag,
      use,
      params: queueParams,
      body: addBody,
      response: { 200: addResponse, 201: addResponse },
      handler: async (ctx) => {
        const added = await actions.add(ctx.input.params.name, ctx.input.body as AskedJob, scopeOf(ctx))
        ctx.status = added.deduplicated ? 200 : 201
        return added
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/operations/:id',
      summary: 'Get an operation on many jobs and its progress',
      tag,
      use,
      params: operationParams,
      response: { 200: operationResponse },
      handler: async (ctx) => shown(await operations.get(ctx.input.params.id, scopeOf(ctx))),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/operations/:id/cancel',
      summary: 'Stop an operation on many jobs; completed steps are not rolled back',
      tag,
      use,
      params: operationParams,
      response: { 200: operationResponse },
      handler: async (ctx) => shown(await operations.cancel(ctx.input.params.id, scopeOf(ctx))),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/operations/:id/undo',
      summary: 'Restore the jobs deleted by a delete or purge within the last ten minutes',
      description: 'Returns a new operation; 202 while it runs. Undoing a purge requires admin.',
      tag,
      use,
      params: operationParams,
      query: bulkQuery,
      response: { 200: bulkResponse, 202: bulkResponse },
      handler: async (ctx) => {
        const { params, query } = ctx.input
        return reply(ctx, await operations.undo(params.id, scopeOf(ctx), query.wait))
      },
    }),
  ]
}

/** Builds the response body; sets the status to 202 while the operation runs. */
function reply(ctx: { status: number }, result: DryRun | FlowDryRun | BulkOperation) {
  if ('dryRun' in result) return { ok: true as const, ...result }
  ctx.status = result.state === 'running' ? 202 : 200
  return shown(result)
}

function shown(operation: BulkOperation) {
  const message = messageOf(operation)
  return { ok: true as const, operation, ...(message === undefined ? {} : { message }) }
}
