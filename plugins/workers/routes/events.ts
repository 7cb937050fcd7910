import { defineRoute, type EventStreams, type Route } from 'zin'
import type { Workers } from '../contract.js'
import { eventsQuery } from '../schema/events.js'
import { tag, use } from './shared.js'

/** Server-sent events of workers. */
export function eventRoutes(workers: Workers, streams: EventStreams): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/workers/events',
      summary: 'Events of workers on all nodes, as server-sent events',
      description: 'Events are named changed, status, removed and node; each is JSON with type, worker, node, state, generation and at.',
      tag,
      use,
      query: eventsQuery,
      handler: (ctx) => {
        const { worker } = ctx.input.query
        let stop: () => void = () => undefined
        const stream = streams.open(ctx, () => stop())
        stop = workers.events((event) => {
          if (worker === undefined || event.worker === worker) stream.send({ event: event.type, data: event })
        })
      },
    }),
  ]
}
