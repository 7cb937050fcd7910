import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from 'zin'
import { type AutoStartSettings, autoStart } from '../auto-start.js'
import type { CreateOptions, OperationOptions } from '../contract.js'
import { refuse, workerErrors } from '../errors.js'
import { problemsOf, updateProblems } from '../record/checks.js'
import { queueStoreProblems } from '../record/infrastructure.js'
import { firstVersionOf, type RecordDefaults, recordOf, updatedRecord } from '../record/make.js'
import type { CreateWorker, UpdateWorker, WorkerRecord } from '../record/record.js'
import type { WorkerFeatures } from '../record/worker-features.js'
import type { SharedState } from '../shared/state.js'
import type { Desired, StoredWorker, WorkerStore } from '../store/contract.js'
import type { StoreRegistry } from '../store/registry.js'
import { snapshotOf } from './change.js'
import { stoppedBy } from './desired-states.js'
import type { GivenCode } from './given-code.js'
import { leftQueues, moveSchedules, type WorkerSchedules } from './schedules.js'
import type { VersionCheck } from './version-check.js'
import { waitUntil } from './wait-until.js'
import { type Applied, defaultWaitMs, type WorkerStep, type WorkerWrites } from './writes.js'

export interface WorkerRecordsParts {
  readonly writes: WorkerWrites
  readonly storeRegistry: StoreRegistry
  readonly shared: SharedState
  readonly check: VersionCheck
  readonly code: GivenCode
  /** Applies a worker again on this node. */
  readonly reconsider: (name: string) => void
  readonly schedules: WorkerSchedules
  readonly features: WorkerFeatures
  readonly clock: Clock
  readonly autoStart: AutoStartSettings
  readonly defaults: RecordDefaults
  /** Where the queues of this app are. */
  readonly queueStore: 'redis' | 'embedded'
}

/** Options of actions that may come from a declaration. */
interface ByDeclaration {
  /** The plugin whose code declares the worker. */
  readonly declaredBy?: string
}

/** Creates, changes and removes workers. */
export class WorkerRecords {
  readonly #parts: WorkerRecordsParts

  constructor(parts: WorkerRecordsParts) {
    this.#parts = parts
  }

  async create(
    input: CreateWorker,
    step: WorkerStep,
    { declaredBy, places = 'any', mayOpen, ...options }: CreateOptions & ByDeclaration = {},
  ): Promise<StoredWorker> {
    const { check, clock, code, defaults, storeRegistry, features, queueStore, reconsider, writes } = this.#parts
    refuse(problemsOf(input))
    refuse(queueStoreProblems(input.infrastructure, queueStore))
    const record = features.complete(recordOf(input, defaults), input)
    const now = clock.now()
    const version = firstVersionOf(input, now)
    const store = await storeRegistry.storeOf(record, {
      client: input.infrastructure?.persistence?.client,
      trusted: places === 'any',
      mayOpen,
    })
    await check.ofNew(record, version, input)
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
      ...(declaredBy !== undefined && { declaredBy }),
      generation: 1,
      createdAt: now,
      updatedAt: now,
    }
    const subjects = () => ({ before: null, after: snapshotOf(worker) })
    // An app that creates its workers at every start must not trigger hooks for those that exist.
    if ((await storeRegistry.find(record.name)) !== undefined) throw workerErrors.WORKER_EXISTS(record.name)
    await step.allow(subjects)
    const insert = async (): Promise<void> => {
      await this.#insert(store, worker)
      step.done(subjects)
      code.keep(worker, record.name, input)
    }
    // This node may have read it meanwhile.
    await code.during(worker.id, insert).finally(() => reconsider(record.name))
    // A worker that was created but could not start exists, FAILED, with its error.
    await writes.apply(worker, 'create', options)
    return worker
  }

  /** Throws WORKER_EXISTS if the name is taken. */
  async #insert(store: WorkerStore, worker: StoredWorker): Promise<void> {
    const { shared, storeRegistry } = this.#parts
    const { name } = worker.record
    const result = await storeRegistry.insert(store, worker).catch((error: unknown) => ({ error }))
    if (result === 'inserted') return
    // Nodes may have read it before it was withdrawn. Those that cannot be reached read all workers once they can.
    if (result !== 'taken') await shared.publishChange(name).catch(() => undefined)
    throw typeof result === 'object' ? result.error : workerErrors.WORKER_EXISTS(name)
  }

  /** Whether an update with these fields would change the worker. Throws the problems of the fields. */
  differs({ record }: StoredWorker, fields: UpdateWorker): boolean {
    return !isDeepStrictEqual(plain(this.#parts.features.complete(updatedRecord(record, fields), fields, record)), plain(record))
  }

  async update(
    name: string,
    changes: UpdateWorker,
    step: WorkerStep,
    { declaredBy, ...options }: OperationOptions & ByDeclaration = {},
  ): Promise<Applied> {
    const { storeRegistry, features, schedules, writes } = this.#parts
    refuse(updateProblems(changes))
    return writes.change(
      name,
      'update',
      async (worker) => {
        const record = features.complete(updatedRecord(worker.record, changes), changes, worker.record)
        await this.#checkUpdate(worker, record)
        const desired: Desired = record.activeStatus ? worker.desired : stoppedBy(worker.desired, step.actor.id, this.#parts.clock.now())
        return { ...worker, record, desired, ...leftQueues(worker, record), ...(declaredBy !== undefined && { declaredBy }) }
      },
      step,
      options,
      // A repeated request also moves schedules that an earlier, failed move left behind.
      changes.queueName === undefined ? undefined : (written) => moveSchedules({ storeRegistry, schedules }, written),
    )
  }

  async remove(name: string, step: WorkerStep, { waitMs = defaultWaitMs }: OperationOptions = {}): Promise<void> {
    const { shared, clock, code, schedules, writes } = this.#parts
    const { store, worker } = await writes.find(name)
    const subjects = () => ({ before: snapshotOf(worker), after: null })
    await step.allow(subjects)
    const removeSchedules = async (): Promise<void> => {
      for (const queueName of [worker.record.queueName, ...(worker.leftQueues ?? [])]) {
        await schedules.removeAll({ ...worker.record, queueName })
      }
    }
    // Before the worker is removed, so that a failed removal can be repeated.
    await removeSchedules()
    if (!(await store.remove(worker))) throw workerErrors.WORKER_NOT_FOUND(name)
    step.done(subjects)
    // A schedule may have been added in the meantime.
    await removeSchedules()
    code.forget(name, worker.id)
    await shared.publishChange(name)
    await waitUntil(
      () => this.#isKnown(name, worker.id),
      (known) => !known,
      { shared, clock, waitMs, concerns: (message) => message.kind === 'forgotten' && message.workerId === worker.id },
    )
    await shared.erase(name, worker.id)
  }

  async #checkUpdate({ record, versions, desired }: StoredWorker, next: WorkerRecord): Promise<void> {
    const { check, schedules } = this.#parts
    const active = versions.find(({ version }) => version === desired.version)
    if (next.isolation !== record.isolation && active !== undefined) await check.ofStored(next, active)
    if (next.queueName !== record.queueName && (await schedules.exist(record))) {
      throw workerErrors.WORKER_HAS_SCHEDULES(record.name, record.queueName)
    }
  }

  async #isKnown(name: string, id: string): Promise<boolean> {
    const reported = await this.#parts.shared.statusesOf(name)
    return reported.some((status) => status.alive && status.workerId === id)
  }
}

/** As it is stored: without fields that are undefined. */
function plain(record: WorkerRecord): unknown {
  return JSON.parse(JSON.stringify(record))
}
