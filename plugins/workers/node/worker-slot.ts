import { isDeepStrictEqual } from 'node:util'
import { messageOf } from 'zin'
import type { NodeStatus, WorkerState } from '../cluster/cluster.js'
import { workerErrors } from '../errors.js'
import type { CheckReport, WorkerHealthCheck } from '../health/check.js'
import type { Processors } from '../processors/processors.js'
import type { StoredWorker } from '../store/store.js'
import { Consumer, type ConsumerParts } from './consumer.js'
import { Counters } from './counters.js'
import { LoadedVersions } from './loaded-versions.js'
import { type Goal, plan, type Step } from './plan.js'
import type { Turn } from './rollout.js'
import { jobRunner } from './run-job.js'
import type { RunningJobs } from './running-jobs.js'
import { SlotRecord } from './slot-record.js'
import { type StopLimits, StopWaits } from './stop-waits.js'
import type { LoadedVersion } from './version.js'

export interface SlotParts extends ConsumerParts {
  readonly processors: Processors
  readonly stopLimits: StopLimits
  /** Called whenever what the slot does has changed. */
  readonly changed: () => void
}

/** Which worker a slot is for: a later one of the same name has another id. */
export interface SlotOwner {
  readonly name: string
  readonly id: string
}

/** One worker in one process: brings what runs here in line with a goal, one step after another. */
export class WorkerSlot {
  readonly name: string
  readonly id: string
  readonly counters = new Counters()
  readonly #parts: SlotParts
  readonly #versions: LoadedVersions
  readonly #record = new SlotRecord()
  readonly #waits: StopWaits
  #worker: StoredWorker | undefined
  #consumer: Consumer | undefined
  /** The end of the last step; steps never overlap. */
  #tail: Promise<unknown>
  #closed = false

  /** @param after what ends before the first step begins. */
  constructor({ name, id }: SlotOwner, parts: SlotParts, after: Promise<unknown> = Promise.resolve()) {
    this.name = name
    this.id = id
    this.#parts = parts
    this.#versions = new LoadedVersions(this.counters, parts.processors)
    this.#waits = new StopWaits(parts.stopLimits)
    this.#tail = after
  }

  get state(): WorkerState {
    return this.#record.state
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

  /** Does what the goal asks for. Never rejects: what went wrong is in the status. */
  apply(worker: StoredWorker, goal: Goal, { placed, turn }: { readonly placed: boolean; readonly turn: Turn }): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#closed || goal.generation < (this.#record.seen?.generation ?? 0)) return
      const before = this.status()
      const steps = plan(goal, this.#record.seen)
      this.#worker = worker
      this.#record.placed = placed
      try {
        for (const step of steps) {
          if (this.#closed) return
          await this.#take(step, worker, goal)
        }
      } catch (error) {
        this.#record.blame(error, goal.generation)
      }
      this.#record.settle({ ...goal, version: this.version ?? goal.version }, turn)
      // Processes that wait for their turn look again whenever they are told something: nothing new must not go round among them.
      if (steps.length > 0 || !saysSame(before, this.status())) this.#parts.changed()
    })
  }

  /** Takes no more jobs after its health checks failed; only a restart or start helps. */
  fail(error: Error): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#consumer === undefined) return
      this.#parts.log.error({ worker: this.name, err: error }, `worker "${this.name}" FAILED: ${messageOf(error)}`)
      await this.#stop()
      this.#record.enter('FAILED', true)
      this.#record.blame(error)
      this.#parts.changed()
    })
  }

  /** Stops for good within these limits, also what is being stopped already. The desired state stays as it is. */
  close(limits: StopLimits): Promise<void> {
    this.#closed = true
    this.#waits.shorten(limits)
    return this.#inTurn(() => this.#stop())
  }

  noteCheck(report: CheckReport): void {
    this.#record.noteCheck(report)
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
    const { status } = this.#record
    if (status === undefined) return undefined
    return {
      worker: this.name,
      workerId: this.id,
      ...status,
      version: this.version ?? null,
      draining: this.#versions.busy(),
      busy: this.#consumer?.busy ?? 0,
      at: this.#parts.clock.now(),
    }
  }

  async #take(step: Step, worker: StoredWorker, goal: Goal): Promise<void> {
    switch (step) {
      case 'start':
        return this.#start(worker, goal)
      case 'stop':
        await this.#stop()
        this.#record.forgive()
        return
      case 'switch':
        return this.#switch(worker, goal)
      case 'resize':
        await this.#consumer?.resize(goal.concurrency)
        this.#versions.resize(goal.concurrency)
        return
      case 'pause':
        await this.#consumer?.pause()
        this.#record.enter('paused')
        return
      case 'resume':
        await this.#consumer?.resume()
        this.#record.enter('running')
    }
  }

  async #start(worker: StoredWorker, goal: Goal): Promise<void> {
    const { hooks, log } = this.#parts
    const { record } = worker
    const { seen } = this.#record
    const doubted = seen !== undefined && (seen.version !== goal.version || seen.refused?.version === goal.version)
    this.#record.forgive()
    this.#record.noteCheck(undefined)
    this.#record.note(goal, 'starting')
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
      const refusal = await this.#versions.begin(worker, goal.version, doubted)
      if (refusal !== undefined) this.#refuse(goal, refusal.error)
      this.#consumer = await Consumer.open(
        record,
        (running) => this.#runner(running),
        () => this.#stalled(),
        this.#parts,
      )
      if (!goal.paused) await this.#consumer.resume()
    } catch (error) {
      log.warn({ worker: record.name, err: error }, `worker "${record.name}" did not start: ${messageOf(error)}`)
      await this.#versions.closeAll()
      this.#record.enter(failedState, true)
      throw error
    }
    this.#record.enter(goal.paused ? 'paused' : 'running')
    log.info({ worker: record.name, queue: record.queueName, concurrency: record.concurrency }, `worker "${record.name}" runs`)
    if (hooks.onWorkerStart.active) await hooks.onWorkerStart.call(record.name)
  }

  async #switch(worker: StoredWorker, goal: Goal): Promise<void> {
    try {
      await this.#versions.change(worker, goal.version)
    } catch (error) {
      this.#refuse(goal, error)
      return
    }
    this.#record.forgive()
    this.#parts.log.info({ worker: this.name, version: goal.version }, `worker "${this.name}" gives new jobs to version ${goal.version}`)
    await this.drain()
  }

  /** Keeps what runs. */
  #refuse(goal: Goal, error: unknown): void {
    this.#parts.log.warn(
      { worker: this.name, version: goal.version, err: error },
      `worker "${this.name}" keeps its version, ${goal.version} cannot run here: ${messageOf(error)}`,
    )
    this.#record.refuse(goal, error)
  }

  /** An attempt that was lost with its process; whoever notices counts it. */
  #stalled(): void {
    if (this.version !== undefined) this.counters.stalled(this.version)
  }

  #runner(running: RunningJobs) {
    const { clock, hooks } = this.#parts
    return jobRunner({
      workerName: this.name,
      select: () => this.#versions.active as LoadedVersion,
      counters: this.counters,
      running,
      clock,
      hooks,
      defaults: () => this.#worker?.record.jobOptions ?? {},
    })
  }

  async #stop(): Promise<void> {
    const consumer = this.#consumer
    if (consumer !== undefined) {
      const { hooks, log } = this.#parts
      this.#record.enter('stopping')
      this.#parts.changed()
      await consumer.close(this.#waits)
      this.#consumer = undefined
      log.info({ worker: this.name }, `worker "${this.name}" stopped`)
      if (hooks.onWorkerStop.active) await hooks.onWorkerStop.call(this.name)
    }
    await this.#versions.closeAll()
    this.#record.enter('stopped', false)
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(step)
    this.#tail = done.catch(() => undefined)
    return done
  }
}

/** Whether two statuses differ at most in when they were made. */
function saysSame(a: NodeStatus | undefined, b: NodeStatus | undefined): boolean {
  return isDeepStrictEqual({ ...a, at: 0 }, { ...b, at: 0 })
}
