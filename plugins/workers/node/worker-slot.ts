import { messageOf, ZinError } from 'zin'
import type { NodeStatus, WorkerState } from '../cluster/cluster.js'
import { workerErrors } from '../errors.js'
import type { CheckReport, WorkerHealthCheck } from '../health/check.js'
import type { Processors } from '../processors/processors.js'
import type { StoredWorker } from '../store/store.js'
import { Consumer, type ConsumerParts, type StopLimits } from './consumer.js'
import type { Counters } from './counters.js'
import { LoadedVersions } from './loaded-versions.js'
import { type Goal, plan, type Seen, type Step } from './plan.js'
import { jobRunner } from './run-job.js'
import type { RunningJobs } from './running-jobs.js'
import { type LoadedVersion, loadHealthyVersion, loadVersion } from './version.js'

export interface SlotParts extends ConsumerParts {
  readonly processors: Processors
  readonly stopLimits: StopLimits
  /** Called whenever what the slot does has changed. */
  readonly changed: () => void
}

/** One worker in one process: brings what runs here in line with a goal, one step after another. */
export class WorkerSlot {
  readonly counters: Counters
  readonly #name: string
  readonly #parts: SlotParts
  #worker: StoredWorker | undefined
  #seen: Seen | undefined
  /** Why the last step failed, and the generation that asked for it. */
  #fault: { readonly error: Error; readonly generation: number } | undefined
  #check: CheckReport | undefined
  #consumer: Consumer | undefined
  readonly #versions: LoadedVersions
  #placed = false
  /** The end of the last step; steps never overlap. */
  #tail: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(name: string, counters: Counters, parts: SlotParts) {
    this.#name = name
    this.counters = counters
    this.#versions = new LoadedVersions(counters)
    this.#parts = parts
  }

  get name(): string {
    return this.#name
  }

  get state(): WorkerState {
    return this.#seen?.state ?? 'stopped'
  }

  /** The version that takes new jobs. */
  get version(): string | undefined {
    return this.#versions.active?.version
  }

  get worker(): StoredWorker | undefined {
    return this.#worker
  }

  get healthCheck(): WorkerHealthCheck | undefined {
    return this.#versions.active?.healthCheck
  }

  /**
   * Does what the goal asks for. Never rejects: what went wrong is in the status.
   *
   * @param waits it is not yet this process's turn to run the wanted version, so the generation does not count as applied.
   */
  apply(worker: StoredWorker, goal: Goal, { placed, waits }: { readonly placed: boolean; readonly waits: boolean }): Promise<void> {
    return this.#inTurn(async () => {
      const seen = this.#seen
      if (this.#closed || (seen?.id === goal.id && goal.generation < seen.generation)) return
      this.#worker = worker
      this.#placed = placed
      try {
        for (const step of plan(goal, seen)) await this.#take(step, worker, goal)
      } catch (error) {
        this.#blame(error, goal.generation)
      }
      this.#note(waits ? { ...goal, generation: seen?.generation ?? 0 } : goal, this.state, this.#seen?.gaveUp)
      this.#parts.changed()
    })
  }

  /** Takes no more jobs after its health checks failed; only a restart or start helps. */
  fail(error: Error): Promise<void> {
    return this.#inTurn(async () => {
      const seen = this.#seen
      if (seen === undefined || this.#consumer === undefined) return
      this.#parts.log.error({ worker: this.#name, err: error }, `worker "${this.#name}" FAILED: ${messageOf(error)}`)
      await this.#stop(this.#parts.stopLimits)
      this.#seen = { ...seen, state: 'FAILED', gaveUp: true }
      this.#blame(error, seen.generation)
      this.#parts.changed()
    })
  }

  /** Stops for good. The desired state stays as it is. */
  close(limits: StopLimits): Promise<void> {
    return this.#inTurn(async () => {
      this.#closed = true
      await this.#stop(limits)
    })
  }

  noteCheck(report: CheckReport): void {
    this.#check = report
    this.#parts.changed()
  }

  cancel(job: string, reason: string): boolean {
    return this.#consumer?.cancel(job, reason) ?? false
  }

  /** Ends replaced versions that run no jobs any more. */
  async drain(): Promise<void> {
    if (await this.#versions.closeDrained()) this.#parts.changed()
  }

  /** Undefined before the first step. */
  status(): NodeStatus | undefined {
    const seen = this.#seen
    if (seen === undefined) return undefined
    return {
      worker: this.#name,
      workerId: seen.id,
      generation: seen.generation,
      state: seen.state,
      placed: this.#placed,
      version: this.#versions.active?.version ?? null,
      draining: this.#versions.busy(),
      concurrency: seen.concurrency,
      busy: this.#consumer?.busy ?? 0,
      ...(this.#fault === undefined ? {} : { error: faultOf(this.#fault) }),
      ...(this.#check === undefined ? {} : { check: this.#check }),
      at: this.#parts.clock.now(),
    }
  }

  async #take(step: Step, worker: StoredWorker, goal: Goal): Promise<void> {
    switch (step) {
      case 'start':
        return this.#start(worker, goal)
      case 'stop':
        await this.#stop(this.#parts.stopLimits)
        this.#fault = undefined
        return
      case 'switch':
        return this.#switch(worker, goal)
      case 'resize':
        this.#consumer?.resize(goal.concurrency)
        this.#versions.active?.processor.resize(goal.concurrency)
        return
      case 'pause':
        await this.#consumer?.pause()
        this.#note(goal, 'paused')
        return
      case 'resume':
        await this.#consumer?.resume()
        this.#note(goal, 'running')
    }
  }

  async #start(worker: StoredWorker, goal: Goal): Promise<void> {
    const { hooks, log } = this.#parts
    const { record } = worker
    this.#fault = undefined
    this.#check = undefined
    const doubted = this.#seen?.id === goal.id && this.#seen.refused?.version === goal.version
    // Not applied before it has started.
    this.#note({ ...goal, generation: this.#seen?.id === goal.id ? this.#seen.generation : 0 }, 'starting')
    this.#parts.changed()
    let failedState: WorkerState = 'FAILED'
    try {
      if (hooks.beforeWorkerStart.active) {
        const verdict = await hooks.beforeWorkerStart.call(record.name)
        if (verdict.denied) {
          failedState = 'stopped'
          throw workerErrors.WORKER_START_DENIED(record.name, verdict.plugin, verdict.reason)
        }
      }
      this.#versions.activate(await this.#firstThatLoads(worker, goal, doubted ? loadHealthyVersion : loadVersion))
      this.#consumer = await Consumer.open(
        record,
        (running) => this.#runner(running),
        () => this.#stalled(),
        this.#parts,
      )
    } catch (error) {
      log.warn({ worker: record.name, err: error }, `worker "${record.name}" did not start: ${messageOf(error)}`)
      await this.#versions.closeAll()
      this.#note(goal, failedState, true)
      throw error
    }
    this.#note(goal, 'running')
    log.info({ worker: record.name, queue: record.queueName, concurrency: record.concurrency }, `worker "${record.name}" runs`)
    if (hooks.onWorkerStart.active) await hooks.onWorkerStart.call(record.name)
  }

  /** The wanted version, else the one before it: a process that begins amid a bad rollout works on. One that was refused must be healthy. */
  async #firstThatLoads(worker: StoredWorker, goal: Goal, load: typeof loadVersion): Promise<LoadedVersion> {
    const { previousVersion } = worker.desired
    try {
      return await load(worker, goal.version, this.#parts.processors)
    } catch (error) {
      if (previousVersion === null || previousVersion === goal.version) throw error
      const loaded = await loadVersion(worker, previousVersion, this.#parts.processors)
      this.#refuse(goal, error)
      return loaded
    }
  }

  async #switch(worker: StoredWorker, goal: Goal): Promise<void> {
    try {
      // A version that is still draining comes back as it is: a rollback loads nothing.
      const again = this.#versions.replaced(goal.version)
      again?.processor.resize(goal.concurrency)
      this.#versions.activate(again ?? (await loadHealthyVersion(worker, goal.version, this.#parts.processors)))
    } catch (error) {
      this.#refuse(goal, error)
      return
    }
    this.#fault = undefined
    this.#parts.log.info({ worker: this.#name, version: goal.version }, `worker "${this.#name}" gives new jobs to version ${goal.version}`)
    await this.drain()
  }

  /** Keeps what runs; the version is not tried again before it is activated or the worker started anew. */
  #refuse(goal: Goal, error: unknown): void {
    this.#parts.log.warn(
      { worker: this.#name, version: goal.version, err: error },
      `worker "${this.#name}" keeps its version, ${goal.version} cannot run here: ${messageOf(error)}`,
    )
    this.#blame(error, goal.generation)
    if (this.#seen !== undefined) this.#seen = { ...this.#seen, refused: { version: goal.version, starts: goal.starts } }
  }

  /** An attempt that was lost with its process; whoever notices counts it. */
  #stalled(): void {
    if (this.#versions.active !== undefined) this.counters.stalled(this.#versions.active.version)
  }

  #runner(running: RunningJobs) {
    const { clock, hooks } = this.#parts
    return jobRunner({
      workerName: this.#name,
      select: () => this.#versions.active as LoadedVersion,
      counters: this.counters,
      running,
      clock,
      hooks,
      defaults: () => this.#worker?.record.jobOptions ?? {},
    })
  }

  async #stop(limits: StopLimits): Promise<void> {
    const consumer = this.#consumer
    if (consumer !== undefined) {
      const { hooks, log } = this.#parts
      if (this.#seen !== undefined) this.#seen = { ...this.#seen, state: 'stopping' }
      this.#parts.changed()
      await consumer.close(limits)
      this.#consumer = undefined
      log.info({ worker: this.#name }, `worker "${this.#name}" stopped`)
      if (hooks.onWorkerStop.active) await hooks.onWorkerStop.call(this.#name)
    }
    await this.#versions.closeAll()
    if (this.#seen !== undefined) this.#seen = { ...this.#seen, state: 'stopped', gaveUp: false }
  }

  #blame(error: unknown, generation: number): void {
    this.#fault = { error: error instanceof Error ? error : new Error(String(error)), generation }
  }

  #note(goal: Goal, state: WorkerState, gaveUp = false): void {
    const refused = this.#seen?.id === goal.id ? this.#seen.refused : undefined
    this.#seen = {
      ...goal,
      version: this.#versions.active?.version ?? goal.version,
      state,
      gaveUp,
      ...(refused?.starts !== goal.starts ? {} : { refused }),
    }
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(step)
    this.#tail = done.catch(() => undefined)
    return done
  }
}

function faultOf({ error, generation }: { readonly error: Error; readonly generation: number }): NonNullable<NodeStatus['error']> {
  const known = error instanceof ZinError
  return { code: known ? error.code : 'WORKER_FAILED', message: error.message, status: known ? error.status : 500, generation }
}
