import { type Command, defineCommand, systemClock } from 'zin'
import type { DecisionPage } from './contract.js'
import { decisionErrors } from './errors.js'
import { demandSubject } from './subjects.js'
import { parseSince } from './time.js'
import { timelineOf } from './timeline.js'

/** Commands that query the running app. */
export const decisionCommands: readonly Command[] = [
  defineCommand({
    name: 'why',
    summary: 'Show what the app did automatically and why, as a timeline',
    args: [
      {
        name: 'subject',
        summary: 'Name of a worker, or another subject as zin status names it, such as node:<id> or webhook:<id>. Default: all',
        required: false,
      },
    ],
    needs: 'running app',
    route: 'GET /api/decisions',
    json: true,
    options: {
      limit: { type: 'int', default: 20, min: 1, max: 100, summary: 'Maximum number of decisions; the newest are shown' },
      since: { type: 'string', summary: 'Only since this time: 30m, 2h or 7d ago, ms since 1970, or an ISO date' },
      kind: { type: 'string', summary: 'Only this kind, such as canary, scale or breaker' },
    },
    run: async ({ app, args, options, print }) => {
      const { subject: given } = args
      const subject = given === undefined || given.includes(':') ? given : `worker:${given}`
      const since = options.since === undefined ? undefined : parseSince(options.since, systemClock.now())
      if (Number.isNaN(since)) {
        throw decisionErrors.INVALID_DECISIONS_QUERY(
          `--since is "${options.since}"; it must be 30m, 2h, 7d, ms since 1970, or an ISO date such as 2026-01-31T12:00:00Z`,
        )
      }
      const query = { subject, kind: options.kind, since, limit: options.limit }
      const { decisions, pagination } = await app.request<DecisionPage>({ method: 'GET', path: '/api/decisions', query })
      // What was removed still has its decisions; a name without any may be mistyped.
      if (subject !== undefined && decisions.length === 0) {
        const isFiltered = since !== undefined || options.kind !== undefined
        const { pagination: all } = isFiltered
          ? await app.request<DecisionPage>({ method: 'GET', path: '/api/decisions', query: { subject, limit: 1 } })
          : { pagination }
        if (all.total === 0) await demandSubject(app, subject)
      }
      if (print.json) return print.table(decisions)
      const about = subject === undefined ? '' : ` about ${subject}`
      if (decisions.length === 0) {
        return print.line(`The app made no decisions${about}${options.since === undefined ? '' : ` since ${options.since}`}`)
      }
      for (const line of timelineOf(decisions, subject)) print.line(line)
      const left = pagination.total - decisions.length
      if (left > 0) print.line(`\n${left} earlier decisions${about}: use --limit (up to 100)`)
    },
  }),
]
