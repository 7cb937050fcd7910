import { messageOf } from 'zin'
import type { CheckReport, WorkerHealthCheck } from '../health/check.js'
import { keepDeadLetter } from '../jobs/dead-letters.js'
import type { NodeStatus, WorkerState } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'
import { AttemptRecords } from './attempt-records.js'
import { type Attempts, Consumer } from './consumer.js'
import { Counters } from './counters.js'
import { LoadedVersions } from './loaded-versions.js'
import { type Goal, plan, type Step } from './plan.js'
import { Refusals } from './refusals.js'
import { jobRunner } from './run-job.js'
import { RunningJobs } from './running-jobs.js'
import { type Decide, type SlotOwner, type SlotParts, saysSame } from './slot-parts.js'
import { SlotRecord } from './slot-record.js'
import { demandLeave, isDenial } from './start-gate.js'
import { isTransient, StartRetry } from './start-retry.js'
import { type StopLimits, StopWaits } from './stop-waits.js'
import type { LoadedVersion } from './version.js'

/** One worker in one process: brings what runs here in line with a goal, one step after another. */
export class WorkerSlot {
  readonly name: string
  readonly id: string
  readonly counters = new Counters()
  readonly #parts: SlotParts
  readonly #versions: LoadedVersions
  readonly #record = new SlotRecord()
  readonly #waits: StopWaits
  readonly #retry = new StartRetry()
  /** Aborted when the slot closes, so that a start which takes long does not hold up the stop. */
  readonly #closing = new AbortController()
  readonly #refusals: Refusals
  #worker: StoredWorker | undefined
  #consumer: Consumer | undefined
  #checksStalled = false
  /** The end of the last step; steps never overlap. */
  #tail: Promise<unknown>

  /** @param after what ends before the first step begins. */
  constructor({ name, id }: SlotOwner, parts: SlotParts, after: Promise<unknown> = Promise.resolve()) {
    this.name = name
    this.id = id
    this.#parts = parts
    this.#versions = new LoadedVersions(this.counters, parts.processors)
    this.#refusals = new Refusals(parts)
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

  /** Does what is decided when the steps before have ended. What goes wrong is in the status; it rejects when nothing could be decided. */
  apply(worker: StoredWorker, decide: Decide): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#closed || worker.generation < (this.#record.seen?.generation ?? 0)) return
      const before = this.status()
      const { goal, placed, checksStalled } = await decide({ status: before, version: this.version })
      const steps = plan(goal, this.#record.seen)
      this.#worker = worker
      this.#record.placed = placed
      this.#checksStalled = checksStalled
      this.#record.aim(goal)
      await this.#refusals.store()
      try {
        for (const step of steps) {
          if (this.#closed) return
          await this.#take(step, worker, goal)
        }
        await this.#keepCandidates(worker)
      } catch (error) {
        if (!this.#closed) this.#record.blame(error, goal.generation)
      }
      if (this.#closed) return
      this.#record.settle({ ...goal, version: this.version ?? goal.version })
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
    this.#closing.abort(new Error(`worker "${this.name}" closes`))
    this.#retry.end()
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

  /** Looks for jobs that lost their process, if this node does so for the worker. */
  async checkStalled(): Promise<void> {
    if (this.#checksStalled) await this.#consumer?.checkStalled()
  }

  /** Ends replaced versions that run no jobs any more. */
  async drain(): Promise<void> {
    if (await this.#versions.closeDrained()) this.#parts.changed()
  }

  /** Undefined before the first step. */
  status(): NodeStatus | undefined {
    const { status } = this.#record
    if (status === undefined) return undefined
    const wanted = this.#worker?.desired.version
    const candidates = this.#versions.candidates()
    return {
      worker: this.name,
      workerId: this.id,
      ...status,
      version: this.version ?? null,
      ...(this.version === undefined || wanted === undefined || this.version === wanted ? {} : { awaits: wanted }),
      draining: this.#versions.busy(),
      ...(candidates.length === 0 ? {} : { candidates }),
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

  /** @param again this is another attempt of a start that failed for a reason that passes. */
  async #start(worker: StoredWorker, goal: Goal, again = false): Promise<void> {
    const { hooks, log } = this.#parts
    const { name, queueName: queue } = worker.record
    const { seen } = this.#record
    const doubted = seen !== undefined && (seen.version !== goal.version || seen.refused === goal.activation)
    if (!again) {
      this.#retry.end()
      this.#record.forgive()
      this.#record.noteCheck(undefined)
      this.#record.note(goal, 'starting')
      this.#parts.changed()
    }
    try {
      await demandLeave(name, hooks)
      await this.#parts.startLanes.run(() => this.#open(worker, goal, doubted), this.#closing.signal)
    } catch (error) {
      await this.#versions.closeAll()
      if (!this.#closed) this.#startFailed(name, error)
      throw error
    }
    this.#retry.end()
    if (again && this.#record.seen?.refused !== goal.activation) this.#record.forgive()
    this.#record.enter(goal.paused ? 'paused' : 'running', false)
    log.info({ worker: name, queue, concurrency: goal.concurrency }, `worker "${name}" runs`)
    if (hooks.onWorkerStart.active) await hooks.onWorkerStart.call(name)
  }

  async #open(worker: StoredWorker, goal: Goal, doubted: boolean): Promise<void> {
    const { signal } = this.#closing
    const refusal = await this.#versions.begin(worker, goal.version, { doubted, signal })
    if (refusal !== undefined) await this.#refuse(worker, goal, refusal.error)
    this.#consumer = await Consumer.open(worker.record, this.#attempts(worker.record.queueName), this.#parts, signal)
    if (!goal.paused) await this.#consumer.resume()
  }

  #startFailed(name: string, error: unknown): void {
    const { log } = this.#parts
    const facts = { worker: name, err: error }
    const text = `worker "${name}" did not start: ${messageOf(error)}`
    if (isTransient(error)) {
      log[this.#retry.pending ? 'debug' : 'warn'](facts, `${text}; it is tried again`)
      this.#retry.later(() => void this.#startAgain())
      this.#record.enter('starting', true)
      return
    }
    log.warn(facts, text)
    this.#retry.end()
    this.#record.enter(isDenial(error) ? 'stopped' : 'FAILED', true)
  }

  /** What it should do may have changed since the last attempt. */
  #startAgain(): Promise<void> {
    return this.#inTurn(async () => {
      const { seen } = this.#record
      const worker = this.#worker
      if (this.#closed || seen?.state !== 'starting' || worker === undefined) return
      const before = this.status()
      try {
        await this.#start(worker, seen, true)
        await this.#keepCandidates(worker)
      } catch (error) {
        if (!this.#closed) this.#record.blame(error)
      }
      if (!saysSame(before, this.status())) this.#parts.changed()
    })
  }

  async #switch(worker: StoredWorker, goal: Goal): Promise<void> {
    try {
      await this.#versions.change(worker, goal.version, this.#closing.signal)
    } catch (error) {
      if (!this.#closed) await this.#refuse(worker, goal, error)
      return
    }
    this.#record.forgive()
    this.#parts.log.info({ worker: this.name, version: goal.version }, `worker "${this.name}" gives new jobs to version ${goal.version}`)
    await this.drain()
  }

  /** Keeps what runs. It is stored before anybody is told. */
  async #refuse(worker: StoredWorker, goal: Goal, error: unknown): Promise<void> {
    await this.#refusals.add(worker, goal.version, error)
    this.#record.refuse(goal, error)
  }

  async #keepCandidates(worker: StoredWorker): Promise<void> {
    if (this.#consumer === undefined) return
    await this.#versions.keepCandidates(worker, this.#closing.signal)
    await this.#versions.closeDrained()
  }

  /** What a new consumer does its jobs with. */
  #attempts(queue: string): Attempts {
    const { clock, id: node } = this.#parts
    const running = new RunningJobs(clock)
    const shared = { ...this.#parts, worker: this.name, node, queue, running, counters: this.counters }
    const records = new AttemptRecords({
      ...shared,
      lostVersion: () => this.#parts.lostVersion(this),
      onDead: (job) => {
        if (this.#worker?.record.features.deadLetterQueue === true) void keepDeadLetter(job, shared)
      },
    })
    const run = jobRunner({
      ...shared,
      records,
      select: (job) =>
        this.#parts.routes.choose(this.name, job, this.#versions.active as LoadedVersion, (version) => this.#versions.candidate(version)),
      middlewares: () => (this.#worker?.record.features.plugins === false ? [] : this.#parts.middlewares.chain),
      defaults: () => this.#worker?.record.jobOptions ?? {},
    })
    return { run, running, records }
  }

  async #stop(): Promise<void> {
    this.#retry.end()
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

  get #closed(): boolean {
    return this.#closing.signal.aborted
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(step)
    this.#tail = done.catch(() => undefined)
    return done
  }
}
