import { randomUUID } from 'node:crypto'
import type { Clock } from 'zin'
import { type AutoStartSettings, autoStart } from './auto-start.js'
import { refuse, workerErrors } from './errors.js'
import type { Observed, WorkerNode } from './node/worker-node.js'
import type { Processors } from './processors/processors.js'
import type { ProcessorRegistry } from './processors/registry.js'
import { checkName, problemsOf } from './record/checks.js'
import { type CreateWorker, type RecordDefaults, recordOf } from './record/record.js'
import type { Located, StoreDirectory } from './store/directory.js'
import type { Desired, StoredWorker } from './store/store.js'
import type { Operation, OperationOptions } from './types.js'

export interface ControlParts {
  readonly directory: StoreDirectory
  /** Absent in a process that does not consume jobs. */
  readonly node: WorkerNode | undefined
  readonly processors: Processors
  readonly registry: ProcessorRegistry
  readonly clock: Clock
  readonly autoStart: AutoStartSettings
  readonly defaults: RecordDefaults
}

export interface Applied {
  readonly worker: StoredWorker
  readonly operation: Operation
  /** False when there was nothing to do. */
  readonly changed: boolean
}

/** How often a change is tried anew when others change the same worker. */
const tries = 5

/** Changes what workers should do: writes the desired state, then has this process apply it. */
export class Control {
  readonly #parts: ControlParts
  /** Withdraws the functions that `create` registered. */
  readonly #given = new Map<string, () => void>()

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

  async create(input: CreateWorker, options: OperationOptions = {}): Promise<StoredWorker> {
    refuse(problemsOf(input))
    const { clock, directory, processors, registry } = this.#parts
    const record = recordOf(input, this.#parts.defaults)
    const store = directory.storeOf(record)
    const given = typeof input.processor === 'function' ? input.processor : undefined
    if (given === undefined) await processors.check(record)
    if ((await directory.find(record.name)) !== undefined) throw workerErrors.WORKER_EXISTS(record.name)
    const { start } = autoStart(this.#parts.autoStart, record)
    const now = clock.now()
    const worker: StoredWorker = {
      id: randomUUID(),
      record,
      desired: { state: start ? 'running' : 'stopped', by: 'rule', restarts: 0 },
      generation: 1,
      createdAt: now,
      updatedAt: now,
    }
    if (!(await store.insert(worker))) throw workerErrors.WORKER_EXISTS(record.name)
    if (given !== undefined) this.#given.set(record.name, registry.register(record.name, given))
    // A worker that was created but did not start is there, FAILED, with its error.
    await this.#apply(worker, options)
    return worker
  }

  async start(name: string, options: OperationOptions = {}): Promise<Applied> {
    const { worker } = await this.find(name)
    if (!worker.record.activeStatus) throw workerErrors.WORKER_INACTIVE(name)
    const { node } = this.#parts
    const seen = node?.observe(name)
    if (node !== undefined && worker.desired.state === 'running' && seen?.state === 'running' && seen.id === worker.id) {
      return { worker, changed: false, operation: operationOf(worker, [node.id], [node.id]) }
    }
    return this.#change(name, (desired) => ({ ...desired, state: 'running', by: 'operator' }), options)
  }

  async stop(name: string, options: OperationOptions = {}): Promise<Applied> {
    return this.#change(name, (desired) => ({ ...desired, state: 'stopped', by: 'operator' }), options)
  }

  async restart(name: string, options: OperationOptions = {}): Promise<Applied> {
    const { worker } = await this.find(name)
    if (!worker.record.activeStatus) throw workerErrors.WORKER_INACTIVE(name)
    return this.#change(name, ({ restarts }) => ({ state: 'running', by: 'operator', restarts: restarts + 1 }), options)
  }

  async remove(name: string, options: OperationOptions = {}): Promise<void> {
    const { store, worker } = await this.find(name)
    if (!(await store.remove(worker))) throw workerErrors.WORKER_CHANGED(name)
    this.#given.get(name)?.()
    this.#given.delete(name)
    if (this.#parts.node !== undefined) await within(this.#parts.node.forget(name), options.waitMs)
  }

  /** Makes a worker that the auto-start rule starts at boot one that should run, unless an operator stopped it meanwhile. */
  async wake(worker: StoredWorker): Promise<StoredWorker> {
    return this.#write(worker.record.name, (desired) => (desired.by === 'operator' ? desired : { ...desired, state: 'running' }))
  }

  async #change(name: string, next: (desired: Desired) => Desired, options: OperationOptions): Promise<Applied> {
    const worker = await this.#write(name, next)
    const { node } = this.#parts
    const observed = await this.#apply(worker, options)
    if (observed?.error !== undefined && observed.generation === worker.generation) throw observed.error
    return {
      worker,
      changed: true,
      operation: operationOf(worker, node === undefined ? [] : [node.id], observed === undefined ? [] : [node?.id ?? '']),
    }
  }

  async #write(name: string, next: (desired: Desired) => Desired): Promise<StoredWorker> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const { store, worker } = await this.find(name)
      const changed: StoredWorker = {
        ...worker,
        desired: next(worker.desired),
        generation: worker.generation + 1,
        updatedAt: this.#parts.clock.now(),
      }
      if (await store.replace(changed)) return changed
    }
    throw workerErrors.WORKER_CHANGED(name)
  }

  /** What this process did, or undefined when it does not consume or needs longer than the caller waits. */
  async #apply(worker: StoredWorker, { waitMs }: OperationOptions): Promise<Observed | undefined> {
    const { node } = this.#parts
    return node === undefined ? undefined : within(node.reconcile(worker), waitMs)
  }
}

function operationOf(worker: StoredWorker, targets: readonly string[], applied: readonly string[]): Operation {
  return { id: randomUUID(), generation: worker.generation, targets, applied }
}

/** What `work` gives within `ms`, else undefined; the work goes on. */
async function within<T>(work: Promise<T>, ms: number | undefined): Promise<T | undefined> {
  if (ms === undefined) return work
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
