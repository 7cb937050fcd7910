import { defineRoute, type EventStreams, type Route } from 'zin'
import { checkFilter } from './check.js'
import type { Decisions } from './contract.js'
import { eventsQuery, listQuery, listResponse } from './schema.js'
import { parseTime } from './time.js'

const use = ['ops']
const tag = 'decisions'

/** Routes for listing and following decisions. */
export function decisionRoutes(decisions: Decisions, streams: EventStreams): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/decisions',
      summary: 'What the app did automatically and why, newest first',
      tag,
      use,
      query: listQuery,
      response: { 200: listResponse },
      handler: async ({ input }) => {
        const { since, ...query } = input.query
        return { ok: true, ...(await decisions.list({ ...query, ...(since === undefined ? {} : { since: parseTime(since) }) })) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/decisions/events',
      summary: 'New decisions of all nodes, as server-sent events',
      description: 'Events are named decision; their data is a decision as in the list, as JSON.',
      tag,
      use,
      query: eventsQuery,
      handler: (ctx) => {
        const { subject, kind } = checkFilter(ctx.input.query)
        let stop: () => void = () => undefined
        const stream = streams.open(ctx, () => stop())
        stop = decisions.follow((decision) => {
          const wanted = (subject === undefined || decision.subject === subject) && (kind === undefined || decision.kind === kind)
          if (wanted) stream.send({ event: 'decision', data: decision })
        })
      },
    }),
  ]
}
