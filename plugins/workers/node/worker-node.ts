import { messageOf, withDeadline } from 'zin'
import type { LocalWorkers, LocalWorker as LocalWorkerView } from '../contract.js'
import { isStuckError, workerErrors } from '../errors.js'
import type { AttemptDelta } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import { stalledCheckMs } from './consumer.js'
import type { VersionCounts } from './counters.js'
import { LocalWorker } from './local-worker.js'
import type { LocalWorkerParts, WorkerKey } from './local-worker-parts.js'
import { StartLanes } from './start-lanes.js'
import { StatusReports } from './status-reports.js'
import type { StopLimits } from './stop-waits.js'
import type { VersionRoutes } from './version-routes.js'

export interface NodeParts extends Omit<LocalWorkerParts, 'changed' | 'startLanes' | 'lostVersion'> {
  readonly shared: SharedState
}

/** What the log line of an error that ends the app says about jobs. */
export interface CrashFacts {
  readonly runningJobs: readonly string[]
  /** The job whose code failed; it may have ended before. Absent: unknown. */
  readonly failedJob?: string
}

/** How many workers start at the same time, which limits the connections opened at once to a store that has just come back. */
const startsAtOnce = 20

/** Maximum number of running jobs in a log line. */
const mostNamed = 20

/** How many queues are checked for stalled jobs at the same time. */
const checksAtOnce = 10

/** The workers on this node. Brings them to their desired states, which are stored elsewhere. */
export class WorkerNode {
  readonly local: LocalWorkers
  readonly #parts: NodeParts
  readonly #workers = new Map<string, LocalWorker>()
  readonly #startLanes = new StartLanes(startsAtOnce)
  readonly #reports: StatusReports
  /** Removed workers that are still stopping, and the promise of that. */
  readonly #stopping = new Map<LocalWorker, Promise<void>>()
  #checking: Promise<void> | undefined
  /** The round of the last check for stalled jobs. */
  #round: number | undefined
  #warned = false
  #countsFault: { readonly since: number; readonly error: string } | undefined

  constructor(parts: NodeParts) {
    this.#parts = parts
    this.#reports = new StatusReports(parts.shared, (error) => this.#warn(error, 'worker statuses could not be reported yet'))
    this.local = {
      node: parts.id,
      list: () => [...this.#workers.values()].flatMap((worker) => viewOf(worker, parts.routes)),
      fail: async (name, error) => {
        const worker = this.#workers.get(name)
        if (worker === undefined) throw workerErrors.WORKER_NOT_FOUND(name)
        await worker.fail(error)
      },
      reportCheck: (name, report) => this.#workers.get(name)?.noteCheck(report),
    }
  }

  get id(): string {
    return this.#parts.id
  }

  /** Returns a worker on this node, and creates it if needed. It begins once an earlier worker with the same name has stopped. */
  localWorker(key: WorkerKey): LocalWorker {
    const known = this.find(key)
    if (known !== undefined) return known
    this.dropEarlier(key)
    const earlier = [...this.#stopping].filter(([worker]) => worker.name === key.name).map(([, stopped]) => stopped)
    const parts: LocalWorkerParts = {
      ...this.#parts,
      startLanes: this.#startLanes,
      changed: () => void this.#report(() => this.#reports.add(worker)),
      lostVersion: (lost) => this.#lostVersion(lost),
    }
    const worker: LocalWorker = new LocalWorker(key, parts, Promise.allSettled(earlier))
    this.#workers.set(key.name, worker)
    return worker
  }

  find({ name, id }: WorkerKey): LocalWorker | undefined {
    const worker = this.#workers.get(name)
    return worker?.id === id ? worker : undefined
  }

  /** Stops and removes an earlier worker with the same name. */
  dropEarlier({ name, id }: WorkerKey): void {
    const worker = this.#workers.get(name)
    if (worker === undefined || worker.id === id) return
    this.forget(worker).catch((error: unknown) => this.#warn(error, 'the status of a removed worker could not be deleted'))
  }

  /** Stops and removes a worker that is no longer stored. */
  async forget(key: WorkerKey): Promise<void> {
    const worker = this.find(key)
    if (worker === undefined) return
    this.#workers.delete(key.name)
    const stopped = worker.close(this.#parts.stopLimits).finally(() => {
      this.#stopping.delete(worker)
      this.#reports.drop(worker)
    })
    this.#stopping.set(worker, stopped)
    await stopped
    // A report in progress must end before the status is deleted.
    await this.#reports.flush()
    await this.#parts.shared.forget(key.name, key.id)
  }

  /** Stops all workers permanently within these limits, which also shorten stops in progress. Desired states do not change. */
  async close({ reportMs, ...limits }: StopLimits & { readonly reportMs: number }): Promise<void> {
    await Promise.all(this.#all().map((worker) => worker.close(limits)))
    const reported = this.#report(() => this.#reports.flush()).then(() => this.flush())
    // Anything not reported in time becomes known when the lease ends.
    await withDeadline(reported, reportMs, '').catch(() => undefined)
  }

  /** Names of the workers that only had to finish their jobs, and have. */
  drained(): readonly string[] {
    return [...this.#workers.values()].flatMap((worker) => (worker.drained ? [worker.name] : []))
  }

  /** Aborts a running job; false if no job with that id runs here. */
  cancel(queue: string, job: string, reason: string): boolean {
    return this.#all().some((worker) => worker.cancel(queue, job, reason))
  }

  /** Throws if a worker has failed here, or takes none of the jobs that wait. */
  check(): void {
    const [problem, ...others] = this.#all().flatMap((local) => {
      const { error, state } = local.status() ?? {}
      return state === 'FAILED' || isStuckError(error?.code) ? [`${local.name} ${state}: ${error?.message ?? 'no reason given'}`] : []
    })
    if (problem !== undefined) throw new Error(others.length === 0 ? problem : `${problem} (and ${others.length} more)`)
  }

  /**
   * Called within the context of an error that nothing caught, which ends the process. If the job whose code failed is known, it fails, and
   * other jobs that do not end before the process return to their queues. Otherwise all of them count as stalled: returned unused, the one
   * whose code failed would end each process that runs it. Returns them as `<queue>:<id>`, at most 20 that run.
   */
  crash(error: unknown): CrashFacts {
    const culprit = this.#parts.context?.getStore()
    const running = this.#all().flatMap((local) => local.runningJobs.map((id) => `${local.worker?.record.queueName}:${id}`))
    const why = new Error(`the app stopped because of an error in this job that nothing caught: ${messageOf(error)}`, { cause: error })
    if (culprit !== undefined) for (const local of this.#all()) local.crash(why, culprit)
    return {
      runningJobs: running.slice(0, mostNamed),
      ...(culprit !== undefined && { failedJob: `${culprit.job.queueName}:${culprit.id}` }),
    }
  }

  /** Stores the reported statuses again after the store has lost them. */
  restore(): Promise<void> {
    return this.#report(() => this.#reports.restore())
  }

  /** Stores how many jobs run now. Returns false if that failed. */
  recount(): Promise<boolean> {
    return this.#reports.refresh(this.#all())
  }

  /** Since when, in ms since 1970, and why attempts could not be counted; undefined if they can. */
  get countsFault(): { readonly since: number; readonly error: string } | undefined {
    return this.#countsFault
  }

  /** Adds the attempts since the last call to the shared counts, and closes drained versions. */
  async flush(): Promise<void> {
    const drained = [...this.#workers.values()].flatMap((worker) => worker.counters.drain().map((counts) => ({ worker, counts })))
    const deltas: readonly AttemptDelta[] = drained.map(({ worker, counts }) => deltaOf(worker, counts))
    let counted = 0
    try {
      while (counted < deltas.length) counted += await this.#parts.shared.count(deltas.slice(counted))
      this.#warned = false
      this.#countsFault = undefined
    } catch (error) {
      this.#countsFault ??= { since: this.#parts.clock.now(), error: messageOf(error) }
      for (const { worker, counts } of drained.slice(counted)) worker.counters.restore([counts])
      this.#warn(error, 'attempt counts could not be stored yet')
    }
    await Promise.all([...this.#workers.values()].map((worker) => worker.drain()))
    await this.#report(() => this.#reports.refresh(this.#all()))
  }

  /** Checks for stalled jobs of the workers for which it is this node's turn, ten at a time. Calls do not overlap. */
  checkStalled(): Promise<void> {
    const { clock, jobLockMs } = this.#parts
    const round = Math.floor(clock.now() / stalledCheckMs(jobLockMs))
    if (round === this.#round) return Promise.resolve()
    this.#checking ??= (async () => {
      const last = this.#round
      this.#round = round
      const workers = [...this.#workers.values()]
      const lane = async (): Promise<void> => {
        for (let worker = workers.pop(); worker !== undefined; worker = workers.pop()) await worker.checkStalled(last, round)
      }
      await Promise.all(Array.from({ length: checksAtOnce }, lane))
    })().finally(() => {
      this.#checking = undefined
    })
    return this.#checking
  }

  /** Replaces the consumers of workers that take no jobs although jobs wait. Asks only for workers that have idle slots and take nothing. */
  async watch(): Promise<void> {
    const { clock, queues } = this.#parts
    const at = clock.monotonic()
    const asking = [...this.#workers.values()].flatMap((worker) => {
      const queue = worker.asksFor(at)
      return queue === undefined ? [] : [{ worker, queue }]
    })
    if (asking.length === 0) return
    // While the store does not answer, it is not the worker that is stuck.
    const samples = await queues.sample(asking.map(({ queue }) => queue)).catch(() => undefined)
    const waitingIn = (queue: string): number => {
      const sample = samples?.get(queue)
      return sample === undefined || sample.paused ? 0 : sample.counts.waiting + (sample.overdue ?? 0)
    }
    if (samples === undefined) return
    const check = async ({ worker, queue }: (typeof asking)[number]): Promise<void> => {
      const why = samples.get(queue)?.broken
      if (why === undefined) await worker.checkFetching(waitingIn(queue), at)
      else worker.broken(why)
    }
    await Promise.all(asking.map(check))
  }

  /** Returns the version on the node that was lost last, or the one that runs here if none is known. */
  async #lostVersion({ name, id, version: here }: WorkerKey & { readonly version: string | undefined }): Promise<string | undefined> {
    const reported = await this.#parts.shared.statusesOf(name).catch(() => [])
    const lost = reported.filter(({ alive, version, workerId }) => !alive && version !== null && workerId === id)
    return lost.sort((a, b) => b.at - a.at)[0]?.version ?? here
  }

  #all(): readonly LocalWorker[] {
    return [...this.#stopping.keys(), ...this.#workers.values()]
  }

  async #report(send: () => Promise<boolean>): Promise<void> {
    if (await send()) this.#warned = false
  }

  /** Logs a warning once per outage. */
  #warn(error: unknown, what: string): void {
    if (this.#warned) return
    this.#warned = true
    this.#parts.log.warn({ err: error }, `${what}: ${messageOf(error)}`)
  }
}

/** A delta without a version adds only to the totals. */
function deltaOf({ id, worker }: LocalWorker, counts: VersionCounts): AttemptDelta {
  return { worker: id, ...counts, version: worker?.record.features.metrics === false ? null : counts.version }
}

function viewOf(local: LocalWorker, routes: VersionRoutes): readonly LocalWorkerView[] {
  const { worker, version } = local
  if (worker === undefined || version === undefined) return []
  const { record, desired } = worker
  return [
    {
      name: record.name,
      version,
      state: local.state,
      routeFallbacks: routes.fallbacks(record.name),
      monitored: desired.monitored ?? record.features.healthMonitoring ?? false,
      features: record.features,
      healthCheck: local.healthCheck,
    },
  ]
}
