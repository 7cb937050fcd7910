import { randomUUID } from 'node:crypto'
import { type Clock, messageOf, ZinError } from 'zin'
import { type AutoStartSettings, autoStart } from '../auto-start.js'
import type { Cluster } from '../cluster/cluster.js'
import { reportedOn } from '../cluster/reported.js'
import { refuse, workerErrors } from '../errors.js'
import type { Processors } from '../processors/processors.js'
import type { ProcessorRegistry } from '../processors/registry.js'
import { checkName, problemsOf, updateProblems } from '../record/checks.js'
import { firstVersionOf, type RecordDefaults, recordOf, updatedRecord } from '../record/make.js'
import type { Problem } from '../record/problem.js'
import type { CreateWorker, RegisterVersion, UpdateWorker, VersionRecord, WorkerRecord } from '../record/record.js'
import type { Located, StoreDirectory } from '../store/directory.js'
import { activationOf, type Desired, type HaltedRollout, type StoredWorker } from '../store/store.js'
import type { Operation, OperationOptions } from '../types.js'
import type { Action, Operations } from './operations.js'
import { demandSuccess } from './progress.js'
import { moveSchedules, type WorkerSchedules } from './schedules.js'
import { stateOf } from './state.js'

export interface ControlParts {
  readonly directory: StoreDirectory
  readonly cluster: Cluster
  readonly operations: Operations
  readonly processors: Processors
  readonly registry: ProcessorRegistry
  readonly schedules: WorkerSchedules
  readonly clock: Clock
  readonly autoStart: AutoStartSettings
  readonly defaults: RecordDefaults
  /** What a valid input asks for that this app does not have. */
  readonly lacking: (input: Pick<CreateWorker, 'features' | 'infrastructure'>) => readonly Problem[]
}

export interface Applied {
  readonly worker: StoredWorker
  readonly operation: Operation
  /** False when there was nothing to do. */
  readonly changed: boolean
}

/** What becomes of a stored worker; asked again when others changed it at the same time. */
type Change<T> = (worker: StoredWorker) => T | Promise<T>

/** How often a change is tried anew when others change the same worker. */
const tries = 10
const defaultWaitMs = 10_000

/** Changes what workers should do: writes the desired state, tells the processes, and waits until they have done it. */
export class Control {
  readonly #parts: ControlParts
  /** Withdraws the functions that `create` and `registerVersion` registered, by the worker's name. */
  readonly #given = new Map<string, (() => void)[]>()

  constructor(parts: ControlParts) {
    this.#parts = parts
  }

  async find(name: string): Promise<Located> {
    const fault = checkName(name)
    if (fault !== undefined) refuse([fault])
    const located = await this.#parts.directory.find(name)
    if (located === undefined) throw workerErrors.WORKER_NOT_FOUND(name)
    return located
  }

  /** @param trusted the caller is code of the app, which may name other stores than the app's own. */
  async create(input: CreateWorker, trusted: boolean, options: OperationOptions = {}): Promise<StoredWorker> {
    refuse(problemsOf(input))
    refuse(this.#parts.lacking(input))
    const { clock, directory, registry } = this.#parts
    const now = clock.now()
    const record = recordOf(input, this.#parts.defaults)
    const version = firstVersionOf(input, now)
    const store = await directory.storeOf(record, { client: input.infrastructure?.persistence?.client, trusted })
    await this.checkVersion(record, version, input)
    const { start } = autoStart(this.#parts.autoStart, record)
    const worker: StoredWorker = {
      id: randomUUID(),
      record,
      versions: [version],
      desired: {
        state: start ? 'running' : 'stopped',
        by: 'rule',
        paused: false,
        starts: 0,
        restarts: 0,
        version: version.version,
        previousVersion: null,
        monitored: null,
      },
      generation: 1,
      createdAt: now,
      updatedAt: now,
    }
    if (!(await directory.insert(store, worker))) throw workerErrors.WORKER_EXISTS(record.name)
    if (typeof input.processor === 'function') this.keep(record.name, registry.register(record.name, input.processor))
    if (typeof input.healthCheck === 'function') this.keep(record.name, registry.registerHealthCheck(record.name, input.healthCheck))
    // A worker that was created but did not start is there, FAILED, with its error.
    await this.#announce(worker, 'create', options)
    return worker
  }

  async update(name: string, changes: UpdateWorker, options: OperationOptions = {}): Promise<Applied> {
    refuse(updateProblems(changes))
    refuse(this.#parts.lacking(changes))
    let before: WorkerRecord | undefined
    return this.change(
      name,
      'update',
      async (worker) => {
        const record = updatedRecord(worker.record, changes)
        await this.#checkUpdate(worker, record)
        const desired: Desired = record.activeStatus
          ? worker.desired
          : { ...worker.desired, state: 'stopped', by: 'operator', paused: false }
        before = worker.record
        return { ...worker, record, desired }
      },
      options,
      // One may have been added after the check.
      (written) => moveSchedules(this.#parts, before ?? written.record, written),
    )
  }

  /** Starting what runs in every process that should run it changes nothing. */
  async start(name: string, options?: OperationOptions): Promise<Applied> {
    const { worker } = await this.find(name)
    const { state, paused } = worker.desired
    const running =
      state === 'running' && !paused && worker.record.activeStatus ? await this.#parts.operations.unchanged(worker) : undefined
    if (running !== undefined) return { worker, operation: running, changed: false }
    return this.#want(
      name,
      'start',
      (desired) => ({ ...desired, state: 'running', by: 'operator', paused: false, starts: desired.starts + 1 }),
      options,
    )
  }

  stop(name: string, options?: OperationOptions): Promise<Applied> {
    return this.change(
      name,
      'stop',
      (worker) => ({ ...worker, desired: { ...worker.desired, state: 'stopped', by: 'operator', paused: false } }),
      options,
    )
  }

  restart(name: string, options?: OperationOptions): Promise<Applied> {
    return this.#want(
      name,
      'restart',
      (desired) => ({ ...desired, state: 'running', by: 'operator', paused: false, restarts: desired.restarts + 1 }),
      options,
    )
  }

  pause(name: string, options?: OperationOptions): Promise<Applied> {
    return this.#wantPaused(name, true, options)
  }

  resume(name: string, options?: OperationOptions): Promise<Applied> {
    return this.#wantPaused(name, false, options)
  }

  monitor(name: string, on: boolean, options?: OperationOptions): Promise<Applied> {
    return this.change(name, 'monitor', (worker) => ({ ...worker, desired: { ...worker.desired, monitored: on } }), options)
  }

  async remove(name: string, { waitMs = defaultWaitMs }: OperationOptions = {}): Promise<void> {
    const { cluster, clock, directory, schedules } = this.#parts
    const { store, worker } = await this.find(name)
    // While there is a worker to name them, so that a removal which did not succeed can be repeated.
    await schedules.removeAll(worker.record)
    if (!(await store.remove(worker))) throw workerErrors.WORKER_NOT_FOUND(name)
    // One may have been added meanwhile.
    await schedules.removeAll(worker.record)
    for (const withdraw of this.#given.get(name) ?? []) withdraw()
    this.#given.delete(name)
    await cluster.announce(name)
    const deadline = clock.monotonic() + waitMs
    while (clock.monotonic() < deadline && (await this.#isKnown(name, worker.id))) await new Promise((resolve) => setTimeout(resolve, 20))
    // One that was created under the name meanwhile keeps what is told of it.
    if ((await directory.find(name)) === undefined) await cluster.erase(name)
  }

  /** Makes a worker that the auto-start rule starts at boot one that should run, unless an operator stopped it meanwhile. */
  wake(worker: StoredWorker): Promise<StoredWorker> {
    return this.#write(worker.record.name, (stored) =>
      stored.desired.by === 'operator' || stored.desired.state === 'running'
        ? undefined
        : { ...stored, desired: { ...stored.desired, state: 'running' } },
    )
  }

  /** Notes that the rollout of the wanted version ended in a process. A later activation is not touched. */
  async halt({ id, record, ...worker }: StoredWorker, node: string, error: unknown): Promise<void> {
    const activation = activationOf(worker)
    const { code } = error instanceof ZinError ? error : { code: 'WORKER_FAILED' }
    const at = this.#parts.clock.now()
    const halted: HaltedRollout = { activation, node, code, message: messageOf(error), at }
    await this.#write(record.name, (stored) =>
      stored.id !== id || stored.halted !== undefined || activationOf(stored) !== activation ? undefined : { ...stored, halted },
    )
    await this.#parts.cluster.announce(record.name)
  }

  /**
   * Writes what `next` makes of the worker, and waits until it is applied. Throws when every process failed to.
   *
   * @param finish called with what was written.
   */
  async change(
    name: string,
    action: Action,
    next: Change<StoredWorker>,
    options: OperationOptions = {},
    finish?: (worker: StoredWorker) => Promise<void>,
  ): Promise<Applied> {
    const worker = await this.#write(name, next)
    const [operation] = await Promise.all([this.#announce(worker, action, options), finish?.(worker)])
    demandSuccess(worker, operation)
    return { worker, operation, changed: true }
  }

  /** Remembers what code gave, to be withdrawn with the worker. */
  keep(name: string, withdraw: () => void): void {
    this.#given.set(name, [...(this.#given.get(name) ?? []), withdraw])
  }

  /** Writes what changes nothing that runs, so there is nothing to wait for. */
  async note(name: string, next: Change<StoredWorker>): Promise<StoredWorker> {
    const worker = await this.#write(name, next)
    await this.#parts.cluster.announce(name)
    return worker
  }

  async #want(
    name: string,
    action: Action,
    next: (desired: Desired, worker: StoredWorker) => Desired | Promise<Desired>,
    options?: OperationOptions,
  ): Promise<Applied> {
    return this.change(
      name,
      action,
      async (worker) => {
        if (!worker.record.activeStatus) throw workerErrors.WORKER_INACTIVE(name)
        return { ...worker, desired: await next(worker.desired, worker) }
      },
      options,
    )
  }

  #wantPaused(name: string, paused: boolean, options?: OperationOptions): Promise<Applied> {
    const next = async (desired: Desired, worker: StoredWorker): Promise<Desired> => {
      if (desired.state === 'stopped') throw workerErrors.WORKER_STOPPED(name, 'stopped')
      const state = stateOf(worker, await reportedOn(this.#parts.cluster, name))
      if (state === 'FAILED' || state === 'stopped') throw workerErrors.WORKER_STOPPED(name, state)
      return { ...desired, paused }
    }
    return this.#want(name, paused ? 'pause' : 'resume', next, options)
  }

  async #announce(worker: StoredWorker, action: Action, { waitMs = defaultWaitMs }: OperationOptions): Promise<Operation> {
    const { operations } = this.#parts
    return operations.settle(await operations.begin(worker, action), waitMs)
  }

  /** `next` answers undefined to leave the worker as it is. */
  async #write(name: string, next: Change<StoredWorker | undefined>): Promise<StoredWorker> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const { store, worker } = await this.find(name)
      const changed = await next(worker)
      if (changed === undefined) return worker
      const written: StoredWorker = { ...changed, generation: worker.generation + 1, updatedAt: this.#parts.clock.now() }
      if (await store.replace(written)) return written
    }
    throw workerErrors.WORKER_CHANGED(name)
  }

  /** Refuses a new version that could not be started with this record. `given`: its processor may be a function, which is not stored. */
  async checkVersion(record: WorkerRecord, stored: VersionRecord, given: Pick<RegisterVersion, 'processor'>): Promise<void> {
    await this.#parts.processors.check(specOf(record, { ...stored, processor: given.processor ?? stored.processor }))
  }

  /** The same for a version that was taken before. What only the code of other processes gives is checked where it runs. */
  async checkStored(record: WorkerRecord, stored: VersionRecord): Promise<void> {
    const spec = specOf(record, stored)
    if (stored.processor !== null || (await this.#parts.processors.isKnown(spec))) await this.#parts.processors.check(spec)
  }

  async #checkUpdate({ record, versions, desired }: StoredWorker, next: WorkerRecord): Promise<void> {
    const active = versions.find(({ version }) => version === desired.version)
    if (next.isolation !== record.isolation && active !== undefined) await this.checkStored(next, active)
    if (next.queueName !== record.queueName && (await this.#parts.schedules.exist(record))) {
      throw workerErrors.WORKER_HAS_SCHEDULES(record.name, record.queueName)
    }
  }

  async #isKnown(name: string, id: string): Promise<boolean> {
    const reported = await reportedOn(this.#parts.cluster, name)
    return reported.some((status) => status.alive && status.workerId === id)
  }
}

function specOf<P>({ name, isolation, concurrency }: WorkerRecord, stored: Omit<VersionRecord, 'processor'> & { readonly processor: P }) {
  const { version, processor, healthCheck } = stored
  return { worker: name, version, processor, healthCheck, isolation, concurrency }
}
