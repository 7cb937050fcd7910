import { messageOf } from 'zin'
import { abortable } from 'zin/plugins/redis'
import { workerErrors } from '../errors.js'
import type { CheckReport, WorkerHealthCheck } from '../health/check.js'
import type { NodeStatus, StatusError, WorkerState } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'
import type { Attempt } from './attempt.js'
import { Consumer } from './consumer.js'
import { Consumers } from './consumers.js'
import { Counters } from './counters.js'
import type { DesiredState } from './desired-state.js'
import { LoadedVersions } from './loaded-versions.js'
import { GivenUp, Loads } from './loads.js'
import { afterEvent, isStuck, isSuspended, type LocalEvent, needsHealthGate, newLocalState } from './local-state.js'
import { isSameStatus, statusOf } from './local-status.js'
import type { Decide, Decision, LocalWorkerParts, WorkerKey } from './local-worker-parts.js'
import { makeAttempts } from './make-attempts.js'
import { plan, type Step } from './plan.js'
import { Refusals } from './refusals.js'
import { hasTurn } from './stalled-turns.js'
import { demandStartAllowed, isDenial } from './start-gate.js'
import { isTransient, mayPass, StartRetry } from './start-retry.js'
import { statusError } from './status-error.js'
import { type StopLimits, StopWaits } from './stop-waits.js'
import { Stuck } from './stuck.js'

type Assignment = Pick<Decision, 'assigned' | 'stalledTurn' | 'alone' | 'drains'>

interface Steps {
  readonly desired: DesiredState
  readonly steps: readonly Step[]
  /** Whether it only finishes its jobs. */
  readonly drains: boolean
  /** Whether this node waits for its claim. */
  readonly waits: boolean
}

/** A worker on this node. Brings it from its observed to its desired state in sequential steps. */
export class LocalWorker {
  readonly name: string
  readonly id: string
  readonly counters = new Counters()
  readonly #parts: LocalWorkerParts
  readonly #versions: LoadedVersions
  readonly #consumers = new Consumers()
  readonly #stuck = new Stuck()
  readonly #waits: StopWaits
  readonly #retry = new StartRetry()
  readonly #refusals: Refusals
  readonly #loads = new Loads()
  #closed = false
  #local = newLocalState
  #assignment: Assignment = { assigned: false, stalledTurn: undefined, alone: false, drains: false }
  #worker: StoredWorker | undefined
  /** The newest state that was given; steps to it may not have begun. */
  #latest: StoredWorker | undefined
  /** The end of the last step; steps never overlap. */
  #tail: Promise<unknown>

  /** @param after settles before the first step begins. */
  constructor({ name, id }: WorkerKey, parts: LocalWorkerParts, after: Promise<unknown> = Promise.resolve()) {
    this.name = name
    this.id = id
    this.#parts = parts
    this.#versions = new LoadedVersions(this.counters, parts.processors)
    this.#refusals = new Refusals(parts)
    this.#waits = new StopWaits(parts.stopLimits)
    this.#tail = after
  }

  get state(): WorkerState {
    return this.#local.observed?.state ?? 'stopped'
  }

  /** The version that takes new jobs. */
  get version(): string | undefined {
    return this.#versions.active?.version
  }

  get worker(): StoredWorker | undefined {
    return this.#worker
  }

  get busy(): number {
    return this.#consumers.busy
  }

  /** Whether it only had to finish its jobs, and has. */
  get drained(): boolean {
    return this.#assignment.drains && this.busy === 0
  }

  /** Ids of the jobs that run here. */
  get runningJobs(): readonly string[] {
    return this.#consumers.running
  }

  /** The process ends because of an error that nothing caught, in the code of the attempt. */
  crash(error: Error, culprit: Attempt): void {
    this.#consumers.crash(error, culprit)
  }

  get healthCheck(): WorkerHealthCheck | undefined {
    return this.#versions.active?.healthCheck
  }

  /** Leaves the worker stopped until its starts or restarts increase. Call it only before the first step. */
  suspendAtBoot({ desired: { starts, restarts } }: StoredWorker, reason: string): void {
    this.#note({ type: 'suspended', reason, starts, restarts })
  }

  /**
   * Applies a decision after all earlier steps. Failed steps are reported in the status; rejects only if `decide` does.
   *
   * @param stops whether the worker stops here, whatever `decide` returns: code that is being loaded is given up.
   */
  apply(worker: StoredWorker, decide: Decide, stops = worker.desired.state === 'stopped'): Promise<void> {
    if (this.#latest === undefined || worker.generation >= this.#latest.generation) {
      this.#latest = worker
      this.#loads.review(worker, stops)
    }
    return this.#inTurn(async () => {
      // The steps to a newer state follow. Those to this one could begin to load code that it does not need.
      if (this.#closed || this.#isOld(worker)) return
      const before = this.status()
      const suspended = (desired: StoredWorker['desired']) => isSuspended(this.#local, desired)
      const decision = await decide({ status: before, version: this.version, busy: this.#consumers.busy, suspended })
      const next = await this.#stepsTo(decision)
      if (next === undefined) return
      const { desired, drains, steps, waits } = next
      const assignment = { ...decision, drains }
      this.#worker = worker
      this.#assignment = assignment
      await this.#refusals.store()
      try {
        for (const step of steps) {
          if (this.#closed) return
          await this.#take(step, worker, desired)
          // Reported before code is loaded, which may take long.
          if (step === 'pause') this.#applied(desired)
        }
        if (!assignment.drains) await this.#keepCandidates(worker)
      } catch (error) {
        // The change that made the load needless follows.
        if (error instanceof GivenUp) return
        this.#stepFailed(error, desired)
      }
      if (this.#closed) return
      if (!assignment.alone || (this.#consumers.current === undefined && !waits)) await this.#parts.claims.release(this.id)
      this.#note({ type: 'applied', desired: { ...desired, version: this.version ?? desired.version } })
      // Nodes that wait in a rollout react to every status: one without news must not circulate among them.
      if (steps.length > 0 || !isSameStatus(before, this.status())) this.#parts.changed()
      await this.#noteTried(worker)
    })
  }

  /**
   * Returns the steps of a decision; undefined if this node must wait, because another one runs the worker, which runs on one at a time.
   * `waits`: it must stop here first, because this node has lost the claim.
   */
  async #stepsTo({ alone, desired, drains }: Decision): Promise<Steps | undefined> {
    if (drains) return this.#finishing(desired, false)
    const steps = plan(desired, this.#local)
    const consumes = this.#consumers.current !== undefined
    const needsClaim = alone && desired.run && (consumes || steps.includes('start'))
    if (!needsClaim || (await this.#parts.claims.take(this))) return { desired, steps, drains, waits: false }
    if (!consumes) return undefined
    if (this.busy > 0) return this.#finishing({ ...desired, paused: true }, true)
    return { desired: { ...desired, run: false }, steps: ['stop'], drains, waits: true }
  }

  /** Takes no new jobs and lets the running ones end. A consumer that would have to be replaced stops instead. */
  #finishing(desired: DesiredState, waits: boolean): Steps {
    const steps = plan(desired, this.#local)
    if (steps.includes('stop')) return { desired: { ...desired, run: false }, steps: ['stop'], drains: false, waits }
    return { desired, steps: steps.filter((step) => step !== 'switch'), drains: true, waits }
  }

  #isOld({ generation }: StoredWorker): boolean {
    return generation < (this.#latest?.generation ?? 0)
  }

  /** All but the version and the concurrency is as desired. */
  #applied(desired: DesiredState): void {
    const { concurrency = desired.concurrency } = this.#local.observed ?? {}
    this.#note({ type: 'applied', desired: { ...desired, version: this.version ?? desired.version, concurrency } })
    this.#parts.changed()
  }

  /** Stops the worker because its health checks failed, until a start, a restart or an activation. */
  fail(error: Error): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#consumers.current === undefined) return
      this.#parts.log.error({ worker: this.name, err: error }, `worker "${this.name}" FAILED: ${messageOf(error)}`)
      this.#decide(
        'failed',
        `worker "${this.name}" FAILED: ${messageOf(error)}. It takes no jobs here until it is started again`,
        this.version ?? '',
      )
      await this.#stop()
      await this.#parts.claims.release(this.id)
      this.#note({ type: 'unhealthy', error: this.#errorStatus(error) })
      this.#parts.changed()
    })
  }

  /** Stops permanently within these limits, which also shorten a stop in progress. The desired state does not change. */
  close(limits: StopLimits): Promise<void> {
    this.#closed = true
    this.#loads.close()
    this.#retry.end()
    this.#waits.shorten(limits)
    return this.#inTurn(async () => {
      await this.#stop()
      await this.#parts.claims.release(this.id)
    })
  }

  noteCheck(report: CheckReport): void {
    this.#note({ type: 'checked', report })
    this.#parts.changed()
  }

  /** Aborts a running job of a queue: also of one that the worker is leaving. */
  cancel(queue: string, job: string, reason: string): boolean {
    return this.#consumers.cancel(queue, job, reason)
  }

  /** Checks for stalled jobs if it is this node's turn; see {@link hasTurn}. */
  async checkStalled(last: number | undefined, round: number): Promise<void> {
    const { stalledTurn } = this.#assignment
    if (stalledTurn !== undefined && hasTurn(stalledTurn, last, round)) await this.#consumers.current?.checkStalled()
  }

  /** Closes replaced versions and consumers that no longer run jobs. */
  async drain(): Promise<void> {
    if (this.#consumers.hasDrained) await this.#inTurn(() => this.#consumers.closeDrained(this.#waits, this.#concurrency))
    if (await this.#versions.closeDrained()) this.#parts.changed()
  }

  /** The queue that the watchdog has to ask now whether jobs wait; undefined if that is not needed. @param at a monotonic time in ms. */
  asksFor(at: number): string | undefined {
    const { current } = this.#consumers
    if (current === undefined || this.state !== 'running') return undefined
    if (isStuck(this.#local) && this.#stuck.isOver(current.fetching.taken, at)) this.#unstuck('it takes jobs again')
    return this.#consumers.asks(at, isStuck(this.#local)) ? this.#worker?.record.queueName : undefined
  }

  /** Replaces the consumer if it has taken none of the jobs that wait for too long. @param waiting number of jobs that wait. */
  async checkFetching(waiting: number, at: number): Promise<void> {
    const { current } = this.#consumers
    if (current === undefined) return
    if (isStuck(this.#local) && waiting === 0 && !this.#stuck.isBroken(at)) this.#unstuck('no job waits that it could take')
    const ms = this.#consumers.waitedInVain(waiting, at)
    if (ms !== undefined) await this.#inTurn(() => this.#replaceConsumer(current, waiting, Math.round(ms / 1000)))
  }

  /** Undefined before the first step. */
  status(): NodeStatus | undefined {
    const { name, id } = this
    return statusOf(this.#local, {
      worker: { name, id },
      assigned: this.#assignment.assigned,
      wanted: this.#worker?.desired.version,
      versions: this.#versions,
      busy: this.#consumers.busy,
      drains: this.#assignment.drains,
      at: this.#parts.clock.now(),
    })
  }

  async #take(step: Step, worker: StoredWorker, desired: DesiredState): Promise<void> {
    switch (step) {
      case 'start': {
        const gate = needsHealthGate(this.#local, desired, worker.desired.untried)
        this.#retry.end()
        this.#note({ type: 'starting', desired })
        this.#parts.changed()
        return this.#start(worker, desired, gate)
      }
      case 'stop':
        return this.#stop()
      case 'switch':
        return this.#switch(worker, desired)
      case 'resize':
        this.#versions.resize(desired.concurrency)
        await this.#consumers.fit(desired.concurrency)
        return
      case 'pause':
        await this.#consumers.current?.pause()
        this.#note({ type: 'paused' })
        return
      case 'resume':
        await this.#consumers.current?.resume()
        this.#note({ type: 'resumed' })
    }
  }

  async #start(worker: StoredWorker, desired: DesiredState, gate: boolean): Promise<void> {
    const { hooks, log, startLanes } = this.#parts
    const { name, queueName: queue } = worker.record
    try {
      await this.#loads.run('start', worker, async (signal) => {
        await abortable(demandStartAllowed(name, hooks), signal)
        await startLanes.run(() => this.#open(worker, desired, { gate, signal }), signal)
      })
    } catch (error) {
      await this.#versions.closeAll()
      if (error instanceof GivenUp) throw error
      this.#startFailed(name, desired, error)
      return
    }
    this.#retry.end()
    this.#note({ type: 'started', version: this.version })
    log.info({ worker: name, queue, concurrency: desired.concurrency }, `worker "${name}" started`)
    if (hooks.onWorkerStart.active) await hooks.onWorkerStart.call(name)
  }

  async #open(worker: StoredWorker, desired: DesiredState, load: { readonly gate: boolean; readonly signal: AbortSignal }): Promise<void> {
    const refusal = await this.#versions.begin(worker, desired.version, load)
    if (refusal !== undefined) await this.#refuse(worker, desired, refusal.error)
    this.#consumers.current = await this.#openConsumer(worker, load.signal)
    // A pause may have been requested meanwhile.
    if (!desired.paused && this.#latest?.desired.paused !== true) await this.#consumers.current.resume()
  }

  /** A key of the queue was overwritten: jobs can no longer be taken, or no longer end. @param why of the store. */
  broken(why: string): void {
    const { clock, decide, id, log } = this.#parts
    const { current } = this.#consumers
    if (this.#closed || current === undefined || this.state !== 'running') return
    const isNew = !isStuck(this.#local)
    this.#stuck.broken(current.fetching.taken, clock.monotonic())
    if (!isNew) return
    const error = workerErrors.WORKER_QUEUE_BROKEN(this.name, why)
    log.error({ worker: this.name }, error.message)
    decide({ worker: this.name, verdict: 'failed', reason: `${error.message} (node ${id})`, inputs: { node: id } })
    this.#note({ type: 'stuck', error: this.#errorStatus(error) })
    this.#parts.changed()
  }

  #openConsumer(worker: StoredWorker, signal: AbortSignal): Promise<Consumer> {
    const attempts = makeAttempts(this, this.#versions, worker.record.queueName, this.#parts)
    const onBroken = (error: Error): void => this.broken(messageOf(error))
    return Consumer.open(worker.record, attempts, this.#parts, { signal, onBroken })
  }

  async #replaceConsumer(stuck: Consumer, waiting: number, seconds: number): Promise<void> {
    const worker = this.#worker
    // It may have been paused or stopped meanwhile.
    if (this.#closed || this.#consumers.current !== stuck || this.state !== 'running' || worker === undefined) return
    const { decide, id, log } = this.#parts
    const { name, queueName } = worker.record
    const error = workerErrors.WORKER_NOT_FETCHING(name, waiting, seconds)
    if (!isStuck(this.#local)) {
      log.error({ worker: name, queue: queueName, waiting }, error.message)
      decide({ worker: name, verdict: 'restarted', reason: `${error.message} (node ${id})`, inputs: { node: id, waiting, seconds } })
    }
    this.#note({ type: 'stuck', error: this.#errorStatus(error) })
    this.#parts.changed()
    try {
      const open = () => this.#loads.run('start', worker, (signal) => this.#openConsumer(worker, signal))
      await this.#consumers.replace(open, this.#concurrency)
      this.#stuck.replaced()
    } catch (failure) {
      if (failure instanceof GivenUp) return
      log.warn({ worker: name, err: failure }, `worker "${name}": its consumer could not be replaced: ${messageOf(failure)}`)
    }
  }

  #unstuck(why: string): void {
    this.#parts.log.info({ worker: this.name }, `worker "${this.name}": ${why}`)
    this.#recovered(why)
    this.#note({ type: 'unstuck' })
    this.#parts.changed()
  }

  #recovered(why: string): void {
    const { decide, id } = this.#parts
    decide({ worker: this.name, verdict: 'recovered', reason: `Worker "${this.name}" on node ${id}: ${why}`, inputs: { node: id } })
  }

  get #concurrency(): number {
    return this.#local.observed?.concurrency ?? 1
  }

  #startFailed(name: string, desired: DesiredState, failure: unknown): void {
    const { log } = this.#parts
    const transient = isTransient(failure)
    const retried = transient || mayPass(failure)
    const isFirst = !(retried && this.#retry.pending)
    const text = `worker "${name}" did not start: ${messageOf(failure)}`
    log[isFirst ? 'warn' : 'debug']({ worker: name, err: failure }, retried ? `${text}; retrying` : text)
    if (retried) this.#retry.later(() => void this.#startAgain(), transient ? 'transient' : 'other')
    else this.#retry.end()
    if (!transient && isFirst && !isDenial(failure)) {
      const then = retried ? 'The start is repeated, less and less often' : 'It takes no jobs here until it is started again'
      this.#decide('failed', `${text}. ${then}`, desired.version)
    }
    const state = transient ? 'starting' : isDenial(failure) ? 'stopped' : 'FAILED'
    this.#note({ type: 'startFailed', error: this.#errorStatus(failure, desired), state })
  }

  /** Retries a start, unless the desired state has changed since the last attempt, or another node runs the worker, which runs on one at a time. */
  #startAgain(): Promise<void> {
    return this.#inTurn(async () => {
      const { observed } = this.#local
      const worker = this.#worker
      const failed = observed?.state === 'FAILED'
      if (this.#closed || worker === undefined || !(failed || observed?.state === 'starting')) return
      const isOld = this.#isOld(worker)
      if (isOld || (this.#assignment.alone && !(await this.#parts.claims.take(this)))) {
        this.#retry.later(() => void this.#startAgain(), failed ? 'other' : 'transient')
        return isOld ? undefined : this.#parts.claims.release(this.id)
      }
      const before = this.status()
      try {
        await this.#start(worker, observed, needsHealthGate(this.#local, observed, worker.desired.untried))
        if (failed && this.#consumers.current !== undefined) this.#recovered('its start has succeeded')
        await this.#keepCandidates(worker)
      } catch (error) {
        if (error instanceof GivenUp) return
        this.#stepFailed(error)
      }
      if (this.#consumers.current === undefined) await this.#parts.claims.release(this.id)
      if (!isSameStatus(before, this.status())) this.#parts.changed()
      await this.#noteTried(worker)
    })
  }

  /** Until it is stored, the version must pass its health check at each start. */
  async #noteTried(worker: StoredWorker): Promise<void> {
    const { desired } = worker
    if (desired.untried !== true || this.#consumers.current === undefined || this.version !== desired.version) return
    await this.#parts.tried(worker).catch((error: unknown) => {
      const text = `that worker "${this.name}" runs version ${desired.version} could not be stored`
      this.#parts.log.warn({ worker: this.name, err: error }, `${text}: ${messageOf(error)}`)
    })
  }

  async #switch(worker: StoredWorker, desired: DesiredState): Promise<void> {
    const { version } = desired
    try {
      await this.#loads.run('switch', worker, (signal) => this.#versions.change(worker, version, signal))
    } catch (error) {
      if (error instanceof GivenUp) throw error
      await this.#refuse(worker, desired, error)
      return
    }
    this.#note({ type: 'versionChanged' })
    this.#parts.log.info({ worker: this.name, version }, `worker "${this.name}" runs new jobs with version ${version}`)
    await this.drain()
  }

  /** Keeps the previous version. The refusal is stored before other nodes learn of it. */
  async #refuse(worker: StoredWorker, desired: DesiredState, error: unknown): Promise<void> {
    const { activation, version } = desired
    await this.#refusals.add(worker, version, error)
    this.#decide('kept', `Version ${version} cannot run: ${messageOf(error)}. The previous version goes on`, version)
    this.#note({ type: 'versionRefused', activation, error: { ...this.#errorStatus(error, desired), version } })
  }

  #decide(verdict: 'failed' | 'kept', what: string, version: string): void {
    const { decide, id: node } = this.#parts
    decide({ worker: this.name, verdict, reason: `On node ${node}: ${what}`, inputs: { node, version } })
  }

  async #stop(): Promise<void> {
    this.#retry.end()
    if (this.#consumers.current !== undefined) {
      const { hooks, log } = this.#parts
      this.#note({ type: 'stopping' })
      this.#parts.changed()
      await this.#consumers.close(this.#waits)
      log.info({ worker: this.name }, `worker "${this.name}" stopped`)
      if (hooks.onWorkerStop.active) await hooks.onWorkerStop.call(this.name)
    }
    await this.#versions.closeAll()
    this.#note({ type: 'stopped' })
  }

  async #keepCandidates(worker: StoredWorker): Promise<void> {
    if (this.#consumers.current === undefined) return
    await this.#loads.run('candidates', worker, (signal) => this.#versions.keepCandidates(worker, signal))
    await this.#versions.closeDrained()
  }

  #note(event: LocalEvent): void {
    this.#local = afterEvent(this.#local, event)
  }

  #stepFailed(error: unknown, desired?: DesiredState): void {
    if (!this.#closed) this.#note({ type: 'stepFailed', error: this.#errorStatus(error, desired) })
  }

  /** @param desired the state that the failed step was to reach; default: the observed state. */
  #errorStatus(error: unknown, desired: DesiredState | undefined = this.#local.observed): StatusError {
    return { ...statusError(error), generation: desired?.generation ?? 0 }
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(step)
    this.#tail = done.catch(() => undefined)
    return done
  }
}
