import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import type { LocalWorker, LocalWorkers } from 'zin/plugins/workers'
import type { EarlierChecks } from './check.js'
import { workerHealthErrors } from './errors.js'
import type { CheckedWorker } from './metrics.js'
import type { CheckOutcome } from './outcome.js'

export interface MonitorParts {
  readonly local: () => LocalWorkers
  readonly check: (worker: LocalWorker, earlier: EarlierChecks) => Promise<CheckOutcome>
  readonly clock: Clock
  readonly log: Logger
  readonly intervalMs: number
  /** Consecutive failures after which a worker is FAILED. */
  readonly threshold: number
  readonly onResult: (worker: string, outcome: CheckOutcome) => Promise<void>
  readonly onCritical: (worker: string, outcome: CheckOutcome) => void | Promise<void>
  /** Timeout of `onCritical`, in ms. */
  readonly criticalMs: number
  /** 0–1; spreads the checks of many workers and nodes over time. */
  readonly random: () => number
}

/** When a check is repeated that failed because of something else, such as a store that did not respond, in ms: it may have passed. */
const againMs = 10_000

interface Watched extends EarlierChecks {
  /** When the next check is due, by the monotonic clock. */
  dueAt: number
  failures: number
  healthy?: boolean
  version: string
}

/** Checks the workers of this node, each on its own interval; checks of one worker never overlap. */
export class Monitor {
  readonly #parts: MonitorParts
  readonly #watched = new Map<string, Watched>()
  readonly #running = new Set<string>()
  readonly #pending = new Set<Promise<void>>()

  constructor(parts: MonitorParts) {
    this.#parts = parts
  }

  /** Starts the checks that are due. Does not wait for them. */
  tick(): void {
    const now = this.#parts.clock.monotonic()
    const workers = this.#parts
      .local()
      .list()
      .filter((worker) => worker.monitored && worker.state === 'running')
    const names = new Set(workers.map((worker) => worker.name))
    for (const name of this.#watched.keys()) if (!names.has(name)) this.#watched.delete(name)
    for (const worker of workers) {
      const watched = this.#watch(worker, now)
      if (this.#running.has(worker.name) || watched.dueAt > now) continue
      this.#running.add(worker.name)
      const done = this.#run(worker, watched)
      this.#pending.add(done)
      void done.finally(() => this.#pending.delete(done))
    }
  }

  /** The workers that are checked here. */
  get checked(): readonly CheckedWorker[] {
    return [...this.#watched].map(([worker, { failures, healthy }]) => ({ worker, failures, healthy }))
  }

  /** Resolves when no check runs. */
  async idle(): Promise<void> {
    await Promise.all(this.#pending)
  }

  /** A new worker or version is checked within one interval, at a random time. */
  #watch(worker: LocalWorker, now: number): Watched {
    const known = this.#watched.get(worker.name)
    if (known?.version === worker.version) return known
    const { intervalMs, random } = this.#parts
    const watched: Watched = { dueAt: now + intervalMs * random(), failures: 0, version: worker.version }
    this.#watched.set(worker.name, watched)
    return watched
  }

  async #run(worker: LocalWorker, watched: Watched): Promise<void> {
    const { check, clock, intervalMs, local, log, onResult, random, threshold } = this.#parts
    const { name } = worker
    let waitMs = intervalMs
    try {
      const outcome = await check(worker, watched)
      if (!outcome.healthy && !outcome.counts) waitMs = Math.min(intervalMs, againMs)
      // The result belongs to a version that has been replaced in the meantime.
      if (this.#watched.get(name) !== watched) return
      watched.failures = outcome.failures
      watched.healthy = outcome.healthy
      const { counts: _, ...report } = outcome
      local().reportCheck(name, report)
      if (!outcome.healthy) log.warn({ worker: name, failures: outcome.failures }, `worker "${name}" is unhealthy: ${outcome.error}`)
      await onResult(name, outcome)
      if (!outcome.healthy && outcome.counts && outcome.failures >= threshold) await this.#giveUp(name, outcome)
    } catch (error) {
      log.error({ worker: name, err: error }, `the health check of worker "${name}" could not be processed: ${messageOf(error)}`)
    } finally {
      this.#running.delete(name)
      watched.dueAt = clock.monotonic() + waitMs * (0.9 + 0.2 * random())
    }
  }

  async #giveUp(name: string, outcome: CheckOutcome): Promise<void> {
    const { criticalMs, local, log, onCritical } = this.#parts
    this.#watched.delete(name)
    await local().fail(name, workerHealthErrors.WORKER_UNHEALTHY(outcome.failures, outcome.error ?? 'no reason given'))
    try {
      await withDeadline(onCritical(name, outcome), criticalMs, `no response within ${criticalMs} ms`)
    } catch (error) {
      log.error({ worker: name, err: error }, `criticalCallback failed for worker "${name}": ${messageOf(error)}`)
    }
  }
}
