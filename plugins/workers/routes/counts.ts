import { type Clock, defineRoute, type Route } from 'zin'
import type { Workers } from '../contract.js'
import { nameParams } from '../schema/common.js'
import { countsAnswer, countsQuery } from '../schema/counts.js'
import type { WorkerCounts } from '../shared/contract.js'
import { percentile } from '../shared/durations.js'
import { tag, use } from './shared.js'

const minuteMs = 60_000

/** Attempts of a worker by minute and version. */
export function countsRoutes(workers: Workers, clock: Clock): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/workers/:name/counts',
      summary: 'Attempts of a worker over all nodes by minute and version, with their run times',
      description: 'Minutes and versions without attempts are omitted. Counts are kept for 24 hours.',
      tag,
      use,
      params: nameParams,
      query: countsQuery,
      response: { 200: countsAnswer },
      handler: async ({ input }) => {
        const { name } = input.params
        const { byMinute, byVersion, minutes } = input.query
        await workers.get(name)
        const counts = await workers.counts([name], { since: clock.now() - minutes * minuteMs, byMinute, byVersion })
        return { ok: true, minutes, counts: counts.map(countsView) }
      },
    }),
  ]
}

function countsView({ durations, minute, totalMs, version, worker: _, ...attempts }: WorkerCounts) {
  const ended = attempts.completed + attempts.failed
  return {
    ...(minute === undefined ? {} : { minute: new Date(minute).toISOString() }),
    ...(version === undefined ? {} : { version }),
    ...attempts,
    avgMs: ended === 0 ? null : totalMs / ended,
    p50Ms: percentile(durations, 0.5) ?? null,
    p95Ms: percentile(durations, 0.95) ?? null,
  }
}
