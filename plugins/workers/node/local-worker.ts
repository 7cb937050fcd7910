import { messageOf } from 'zin'
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
  /** Aborted on close, so that a slow start does not delay it. */
  readonly #closing = new AbortController()
  #local = newLocalState
  #assignment: Omit<Decision, 'desired'> = { assigned: false, stalledTurn: undefined }
  #worker: StoredWorker | undefined
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

  /** Applies a decision after all earlier steps. Failed steps are reported in the status; rejects only if `decide` does. */
  apply(worker: StoredWorker, decide: Decide): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#closed || worker.generation < (this.#local.observed?.generation ?? 0)) return
      const before = this.status()
      const suspended = (desired: StoredWorker['desired']) => isSuspended(this.#local, desired)
      const { desired, ...assignment } = await decide({ status: before, version: this.version, suspended })
      const steps = plan(desired, this.#local)
      this.#worker = worker
      this.#assignment = assignment
      await this.#refusals.store()
      try {
        for (const step of steps) {
          if (this.#closed) return
          await this.#take(step, worker, desired)
        }
        await this.#keepCandidates(worker)
      } catch (error) {
        this.#stepFailed(error, desired)
      }
      if (this.#closed) return
      this.#note({ type: 'applied', desired: { ...desired, version: this.version ?? desired.version } })
      // Nodes that wait in a rollout react to every status: one without news must not circulate among them.
      if (steps.length > 0 || !isSameStatus(before, this.status())) this.#parts.changed()
    })
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
      this.#note({ type: 'unhealthy', error: this.#errorStatus(error) })
      this.#parts.changed()
    })
  }

  /** Stops permanently within these limits, which also shorten a stop in progress. The desired state does not change. */
  close(limits: StopLimits): Promise<void> {
    this.#closing.abort(new Error(`worker "${this.name}" closes`))
    this.#retry.end()
    this.#waits.shorten(limits)
    return this.#inTurn(() => this.#stop())
  }

  noteCheck(report: CheckReport): void {
    this.#note({ type: 'checked', report })
    this.#parts.changed()
  }

  cancel(job: string, reason: string): boolean {
    return this.#consumers.cancel(job, reason)
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
    return this.#consumers.asks(at) ? this.#worker?.record.queueName : undefined
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
      at: this.#parts.clock.now(),
    })
  }

  async #take(step: Step, worker: StoredWorker, desired: DesiredState): Promise<void> {
    switch (step) {
      case 'start': {
        const gate = needsHealthGate(this.#local, desired)
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
      await demandStartAllowed(name, hooks)
      await startLanes.run(() => this.#open(worker, desired, gate), this.#closing.signal)
    } catch (error) {
      await this.#versions.closeAll()
      if (!this.#closed) this.#startFailed(name, desired, error)
      return
    }
    this.#retry.end()
    this.#note({ type: 'started', version: this.version })
    log.info({ worker: name, queue, concurrency: desired.concurrency }, `worker "${name}" started`)
    if (hooks.onWorkerStart.active) await hooks.onWorkerStart.call(name)
  }

  async #open(worker: StoredWorker, desired: DesiredState, gate: boolean): Promise<void> {
    const { signal } = this.#closing
    const refusal = await this.#versions.begin(worker, desired.version, { gate, signal })
    if (refusal !== undefined) await this.#refuse(worker, desired, refusal.error)
    this.#consumers.current = await this.#openConsumer(worker)
    if (!desired.paused) await this.#consumers.current.resume()
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

  #openConsumer(worker: StoredWorker): Promise<Consumer> {
    const attempts = makeAttempts(this, this.#versions, worker.record.queueName, this.#parts)
    const onBroken = (error: Error): void => this.broken(messageOf(error))
    return Consumer.open(worker.record, attempts, this.#parts, { signal: this.#closing.signal, onBroken })
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
      await this.#consumers.replace(() => this.#openConsumer(worker), this.#concurrency)
      this.#stuck.replaced()
    } catch (failure) {
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

  /** Retries a start, unless the desired state has changed since the last attempt. */
  #startAgain(): Promise<void> {
    return this.#inTurn(async () => {
      const { observed } = this.#local
      const worker = this.#worker
      const failed = observed?.state === 'FAILED'
      if (this.#closed || worker === undefined || !(failed || observed?.state === 'starting')) return
      const before = this.status()
      try {
        await this.#start(worker, observed, needsHealthGate(this.#local, observed))
        if (failed && this.#consumers.current !== undefined) this.#recovered('its start has succeeded')
        await this.#keepCandidates(worker)
      } catch (error) {
        this.#stepFailed(error)
      }
      if (!isSameStatus(before, this.status())) this.#parts.changed()
    })
  }

  async #switch(worker: StoredWorker, desired: DesiredState): Promise<void> {
    const { version } = desired
    try {
      await this.#versions.change(worker, version, this.#closing.signal)
    } catch (error) {
      if (!this.#closed) await this.#refuse(worker, desired, error)
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
    await this.#versions.keepCandidates(worker, this.#closing.signal)
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

  get #closed(): boolean {
    return this.#closing.signal.aborted
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(step)
    this.#tail = done.catch(() => undefined)
    return done
  }
}
