import { defineRoute, type EventStreams, type Route, ZinError } from 'zin'
import type { Workers, WorkerView } from '../contract.js'
import { eventsQuery } from '../schema/events.js'
import { tag, use } from './shared.js'

/** Server-sent events of workers. */
export function eventRoutes(workers: Workers, streams: EventStreams): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/workers/events',
      summary: 'Events of workers on all nodes, as server-sent events',
      description:
        'Events are named changed, status, removed and node; each is JSON with type, worker, node, state, generation and at. A request that does not accept text/event-stream gets the worker named "events", if there is one.',
      tag,
      use,
      query: eventsQuery,
      handler: async (ctx) => {
        const { worker } = ctx.input.query
        const accepted = ctx.get('accept')
        const wantsStream = accepted.includes('text/event-stream')
        if (!wantsStream && accepted.includes('application/json')) return { ok: true, worker: await workers.get('events') }
        const named = wantsStream ? undefined : await workerNamedEvents(workers)
        if (named !== undefined) return { ok: true, worker: named }
        let stop: () => void = () => undefined
        const stream = streams.open(ctx, () => stop())
        stop = workers.events((event) => {
          if (worker === undefined || event.worker === worker) stream.send({ event: event.type, data: event })
        })
      },
    }),
  ]
}

/** This path is also that of a worker with this name. */
async function workerNamedEvents(workers: Workers): Promise<WorkerView | undefined> {
  try {
    return await workers.get('events')
  } catch (error) {
    if (error instanceof ZinError && error.status === 404) return undefined
    throw error
  }
}
