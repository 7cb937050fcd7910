import { type AttentionFact, type AttentionReport, countText } from 'zin'
import type { Workers, WorkerView } from 'zin/plugins/workers'
import type { BreakerRules } from './rules.js'
import { rulesIn } from './service.js'
import type { Circuits, SharedCircuits } from './shared-circuits.js'

/** The kinds of facts, and when each is listed. */
export const circuitKinds = {
  'circuit-open': 'a circuit breaker is open or half-open',
} as const

export interface CircuitReportParts {
  readonly workers: Pick<Workers, 'list'>
  readonly shared: Pick<SharedCircuits, 'readMany'>
  readonly defaults: BreakerRules
}

/** Pages of 100 workers. */
const mostPages = 20

/** Circuits that are not closed: a read of all workers, and one round trip per 500 that have a breaker. */
export async function circuitReport({ defaults, shared, workers }: CircuitReportParts): Promise<AttentionReport> {
  const guarded: WorkerView[] = []
  let more = 0
  for (let page = 1, seen = 0; ; page++) {
    const { pagination, workers: some } = await workers.list({ page, limit: 100 })
    seen += some.length
    guarded.push(...some.filter((worker) => rulesIn(worker, defaults) !== undefined))
    more = Math.max(0, pagination.total - seen)
    if (page >= pagination.totalPages || page >= mostPages) break
  }
  const all = await shared.readMany(guarded.map(({ name }) => name))
  const reason = `${countText(more, 'worker')} beyond the first ${mostPages * 100} are not checked`
  return {
    facts: guarded.flatMap((worker, i) => circuitFacts(worker, all[i] ?? {})),
    notChecked: more > 0 ? [{ kind: 'other-circuits', reason }] : [],
  }
}

/** Pure. */
export function circuitFacts({ name, queueName }: Pick<WorkerView, 'name' | 'queueName'>, circuits: Circuits): readonly AttentionFact[] {
  return Object.entries(circuits).map(([jobName, { reason, since, state }]) => {
    const whose = jobName === '' ? `of the worker "${name}"` : `of the jobs "${jobName}" of the worker "${name}"`
    const what = state === 'open' ? 'is open, and its jobs are held' : 'is half-open: single jobs are tried'
    return {
      kind: 'circuit-open',
      subject: `worker:${name}`,
      key: jobName,
      queue: queueName,
      severity: state === 'open' ? 'bad' : 'warn',
      cause: `The circuit ${whose} ${what}: ${reason}`,
      since,
      act: { label: 'Open the worker', href: `/console/workers/${encodeURIComponent(name)}` },
    }
  })
}
