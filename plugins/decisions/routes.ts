import { defineRoute, type EventStreams, type Route, type RouteContext } from 'zin'
import { checkFilter } from './check.js'
import type { Decision, Decisions } from './contract.js'
import { withoutErrorMessages } from './error-counts.js'
import { eventsQuery, listQuery, listResponse } from './schema.js'
import { parseTime } from './time.js'

const use = ['ops']
const tag = 'decisions'

/**
 * Routes for listing and following decisions.
 *
 * @param seesErrors whether the caller may see messages of errors of jobs, which may hold parts of their payloads.
 */
export function decisionRoutes(decisions: Decisions, streams: EventStreams, seesErrors: (ctx: RouteContext) => boolean): readonly Route[] {
  const shownTo = (ctx: RouteContext): ((decision: Decision) => Decision) => {
    const all = seesErrors(ctx)
    return (decision) => (all || decision.inputs === undefined ? decision : { ...decision, inputs: withoutErrorMessages(decision.inputs) })
  }
  return [
    defineRoute({
      method: 'GET',
      path: '/api/decisions',
      summary: 'What the app did automatically and why, newest first',
      tag,
      use,
      query: listQuery,
      response: { 200: listResponse },
      handler: async (ctx) => {
        const { since, ...query } = ctx.input.query
        const page = await decisions.list({ ...query, ...(since === undefined ? {} : { since: parseTime(since) }) })
        return { ok: true, ...page, decisions: page.decisions.map(shownTo(ctx)) }
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
        const shown = shownTo(ctx)
        const stream = streams.open(ctx, () => stop())
        stop = decisions.follow((decision) => {
          const wanted = (subject === undefined || decision.subject === subject) && (kind === undefined || decision.kind === kind)
          if (wanted) stream.send({ event: 'decision', data: shown(decision) })
        })
      },
    }),
  ]
}
