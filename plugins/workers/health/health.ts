import { stateOf, statusesOf } from '../control/state.js'
import type { HookSlots } from '../hook-slots.js'
import type { WorkerJobs } from '../jobs/jobs.js'
import type { ReportedStatus } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import type { StoredWorker } from '../store/contract.js'
import { pluginTerms } from './plugin-terms.js'
import { type HealthReport, scoreOf, termsOf } from './score.js'

export interface HealthParts {
  readonly shared: SharedState
  readonly jobs: WorkerJobs
  readonly hooks: Pick<HookSlots, 'collectHealthTerms'>
  readonly now: () => number
}

/** Attempts count towards the score for this time, ms. */
const windowMs = 600_000

/** Determines the health of workers across all nodes. */
export class Health {
  readonly #parts: HealthParts

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  /** @param reported the statuses of the worker on all nodes. */
  async of(worker: StoredWorker, reported: Promise<readonly ReportedStatus[]>): Promise<HealthReport> {
    const { shared, hooks, jobs, now } = this.#parts
    const { name, features } = worker.record
    const [known, [attempts], oldest, added] = await Promise.all([
      reported,
      shared.counts([name], { since: now() - windowMs }),
      worker.desired.state === 'running' && !worker.desired.paused ? jobs.oldestWaiting(worker.record) : undefined,
      hooks.collectHealthTerms.active ? hooks.collectHealthTerms.call(name) : undefined,
    ])
    const statuses = statusesOf(worker, known)
    const placed = statuses.filter((status) => status.placed)
    const checks = statuses.flatMap(({ alive, check, node }) => (alive && check !== undefined ? [{ node, ...check }] : []))
    const state = stateOf(worker, statuses)
    const own = termsOf({
      failedState: state === 'FAILED',
      nobodyRuns: worker.desired.state === 'running' && state === 'unknown',
      halted: worker.halted?.message,
      completed: attempts?.completed ?? 0,
      failed: attempts?.failed ?? 0,
      lost: (attempts?.lost ?? 0) + (attempts?.timedOut ?? 0),
      failingChecks: checks.filter((check) => !check.healthy).map((check) => check.error ?? 'no reason given'),
      nodes: worker.desired.state === 'running' ? placed.length : 0,
      nodesDown: placed.filter((status) => !status.alive || status.state === 'FAILED').length,
      stuck: placed.find(({ alive, error }) => alive && error?.code === 'WORKER_NOT_FETCHING')?.error?.message,
      oldestWaitingMs: oldest === undefined ? 0 : Math.max(0, now() - oldest),
    })
    const terms = [...own, ...pluginTerms(added)]
    return { score: scoreOf(terms), terms, monitored: worker.desired.monitored ?? features.healthMonitoring ?? false, checks }
  }
}
