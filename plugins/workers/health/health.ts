import { messageOf, ZinError } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import { stateOf, statusesOf } from '../control/state.js'
import { isStuckError } from '../errors.js'
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
  readonly queues: Pick<Queues, 'ping'>
  readonly now: () => number
}

/** Attempts count towards the score for this time, ms. */
const windowMs = 600_000
/** How long the answer of the store is used, ms. */
const storeMs = 5_000

/** Determines the health of workers across all nodes. */
export class Health {
  readonly #parts: HealthParts
  #store: { readonly at: number; readonly fault: Promise<string | undefined> } | undefined

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  /** @param reported the statuses of the worker on all nodes. */
  async of(worker: StoredWorker, reported: Promise<readonly ReportedStatus[]>): Promise<HealthReport> {
    const { shared, hooks, jobs, now } = this.#parts
    const { name, features } = worker.record
    const wanted = worker.desired.state === 'running'
    const [known, [attempts], waiting, added, storeFault] = await Promise.all([
      reported,
      shared.counts([worker.id], { since: now() - windowMs }),
      wanted && !worker.desired.paused ? jobs.oldestWaiting(worker.record).catch(unlessBroken) : undefined,
      hooks.collectHealthTerms.active ? hooks.collectHealthTerms.call(name) : undefined,
      wanted ? this.#storeFault() : undefined,
    ])
    const [oldest, broken] = typeof waiting === 'string' ? [undefined, waiting] : [waiting, undefined]
    const statuses = statusesOf(worker, known)
    const placed = statuses.filter((status) => status.placed)
    const checks = statuses.flatMap(({ alive, check, node }) => (alive && check !== undefined ? [{ node, ...check }] : []))
    const state = stateOf(worker, statuses)
    const own = termsOf({
      failedState: state === 'FAILED',
      nobodyRuns: wanted && state === 'unknown',
      halted: worker.halted?.message,
      completed: attempts?.completed ?? 0,
      failed: attempts?.failed ?? 0,
      lost: (attempts?.lost ?? 0) + (attempts?.timedOut ?? 0),
      failingChecks: checks.filter((check) => !check.healthy).map((check) => check.error ?? 'no reason given'),
      nodes: wanted ? placed.length : 0,
      nodesDown: placed.filter((status) => !status.alive || status.state === 'FAILED').length,
      stuck: placed.find(({ alive, error }) => alive && isStuckError(error?.code))?.error?.message ?? broken,
      storeFault,
      oldestWaitingMs: oldest === undefined ? 0 : Math.max(0, now() - oldest),
    })
    const terms = [...own, ...pluginTerms(added)]
    return { score: scoreOf(terms), terms, monitored: worker.desired.monitored ?? features.healthMonitoring ?? false, checks }
  }

  /** Asks the store at most once within {@link storeMs}, for all workers. */
  #storeFault(): Promise<string | undefined> {
    const { now, queues } = this.#parts
    const at = now()
    if (this.#store === undefined || Math.abs(at - this.#store.at) > storeMs)
      this.#store = { at, fault: queues.ping().then(() => undefined, messageOf) }
    return this.#store.fault
  }
}

/** A broken queue is a reason for a lower score, not for none. */
function unlessBroken(error: unknown): string {
  if (error instanceof ZinError && error.code === 'QUEUE_BROKEN') return error.message
  throw error
}
