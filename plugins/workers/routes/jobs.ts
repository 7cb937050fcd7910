import { defineRoute, type Route } from 'zin'
import type { JobViews, Viewer } from 'zin/plugins/queues'
import type { Workers } from '../contract.js'
import { documented } from '../documented.js'
import type { CancelOutcome, WorkerJob } from '../jobs/types.js'
import { jobParams, messageAnswer, nameParams } from '../schema/common.js'
import {
  cancelBody,
  cancelledAnswer,
  enqueueBody,
  enqueuedAnswer,
  jobAnswer,
  scheduleAnswer,
  scheduleBody,
  scheduleParams,
  schedulesAnswer,
} from '../schema/jobs.js'
import { type Access, tag, use, writesQueues } from './shared.js'

const outcomes: Readonly<Record<CancelOutcome, string>> = {
  removed: 'The job was waiting and has been removed',
  failed: 'The job was waiting and has failed, as seen by the job that waits for it',
  cancelled: 'The job is running, and its signal was aborted',
  orphaned: 'No reachable node runs the job; it fails when its lock ends, unless an unreachable node completes it',
}

/** Jobs and schedules of a worker. */
export function jobRoutes(workers: Workers, { demand, viewer, views }: Access): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/workers/:name/jobs',
      summary: 'Add a job to the queue of a worker, optionally with jobs that must complete before it',
      tag,
      use,
      params: nameParams,
      body: enqueueBody,
      documented: documented.enqueue,
      response: { 202: enqueuedAnswer },
      handler: async (ctx) => {
        await demand(ctx, writesQueues)
        const { data = null, options, children } = ctx.input.body
        const worker = ctx.input.params.name
        const job =
          children === undefined
            ? await workers.enqueue(worker, data, options as never)
            : await workers.enqueueFlow({ worker, data, ...(options === undefined ? {} : { options }), children } as never)
        ctx.status = 202
        return { ok: true, job, deduplicated: job.deduplicated }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/jobs/:id',
      summary: 'Get a job of a worker: its status and, with payload:read, its result, error and progress',
      tag,
      use,
      params: jobParams,
      documented: documented.job,
      response: { 200: jobAnswer },
      handler: async (ctx) => {
        const { id, name } = ctx.input.params
        return { ok: true, job: await viewed(await workers.job(name, id), views(), viewer(ctx)) }
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/workers/:name/jobs/:id/cancel',
      summary: 'Remove a waiting job, or abort the signal of a running one on whichever node runs it',
      tag,
      use,
      params: jobParams,
      documented: documented.job,
      body: cancelBody,
      response: { 200: cancelledAnswer },
      handler: async (ctx) => {
        await demand(ctx, writesQueues)
        const { input } = ctx
        const outcome = await workers.cancelJob(input.params.name, input.params.id, input.body.reason)
        return { ok: true, message: outcomes[outcome], outcome }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/schedules',
      summary: 'List the recurring jobs of a worker',
      tag,
      use,
      params: nameParams,
      documented: documented.named,
      response: { 200: schedulesAnswer },
      handler: async ({ input }) => ({ ok: true, schedules: await workers.schedules(input.params.name) }),
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/workers/:name/schedules/:id',
      summary: 'Add or replace a recurring job, by cron pattern or interval',
      tag,
      use,
      params: scheduleParams,
      body: scheduleBody,
      documented: documented.schedule,
      response: { 200: scheduleAnswer },
      handler: async (ctx) => {
        await demand(ctx, writesQueues)
        const { body, params } = ctx.input
        return { ok: true, schedule: await workers.schedule(params.name, params.id, body as never) }
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/workers/:name/schedules/:id',
      summary: 'Remove a recurring job; jobs that it has already added stay',
      tag,
      use,
      params: scheduleParams,
      documented: documented.unschedule,
      response: { 200: messageAnswer },
      handler: async (ctx) => {
        await demand(ctx, writesQueues)
        const { input } = ctx
        await workers.unschedule(input.params.name, input.params.id)
        return { ok: true, message: `Schedule "${input.params.id}" is removed` }
      },
    }),
  ]
}

/** A job as this caller sees it: its result is redacted, and left out with its error and progress if the caller may not see payloads. */
async function viewed(job: WorkerJob, views: JobViews, viewer: Viewer): Promise<WorkerJob & { readonly withheld: boolean }> {
  const { error, progress, queue, result } = job
  const isCount = typeof progress !== 'object' && typeof progress !== 'string'
  const hasTexts = error !== null || !isCount
  if (result === null && !hasTexts) return { ...job, withheld: false }
  // A view is recorded if it shows a payload, or texts that are encrypted like one.
  const recorded = result !== null || views.hidesTexts
  const admitted = recorded ? await views.admits(job, viewer, 'payload') : viewer.may('payload:read')
  if (!admitted) return { ...job, result: null, error: null, progress: isCount ? progress : null, withheld: true }
  const shown = error === null ? null : views.error(error, viewer)
  return { ...job, result: await views.redacted(queue, result), error: shown, progress: views.withoutSecrets(progress), withheld: false }
}
