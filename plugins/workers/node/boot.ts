import type { Logger } from 'zin'
import { type AutoStartSettings, autoStart } from '../auto-start.js'
import type { SharedState } from '../shared/state.js'
import type { StoredWorker } from '../store/contract.js'
import type { StoreRegistry } from '../store/registry.js'
import type { Assignments } from './assignments.js'
import type { KnownWorkers } from './known-workers.js'
import type { WorkerNode } from './worker-node.js'

export interface BootParts {
  readonly storeRegistry: Pick<StoreRegistry, 'all'>
  readonly shared: SharedState
  /** Absent on a node that only manages workers. */
  readonly node: WorkerNode | undefined
  readonly rule: AutoStartSettings
  /** Makes `running` the desired state of a worker that the rule starts at boot. */
  readonly applyAutoStart: (worker: StoredWorker) => Promise<StoredWorker>
  readonly log: Logger
  readonly known: KnownWorkers
  readonly assignments: Assignments
  /** Brings a worker to its desired state. */
  readonly apply: (name: string) => Promise<void>
}

/** Number of workers whose statuses are read in one call. */
const readAtOnce = 200

/** Starts the workers that should run when a node starts. */
export class Boot {
  readonly #parts: BootParts
  #state: 'ready' | 'running' | 'done' = 'ready'
  /** The workers that were stored before this node could receive start requests; undefined if they could not be read. */
  #before: readonly StoredWorker[] | undefined
  #decide: () => void = () => undefined
  /** Resolves once the workers that must not start at boot are known. Nothing is applied before. */
  readonly decided: Promise<void>

  constructor(parts: BootParts) {
    this.#parts = parts
    this.decided = new Promise((resolve) => {
      this.#decide = resolve
    })
  }

  get done(): boolean {
    return this.#state === 'done'
  }

  /** Reads the stored workers before other plugins start, so that a worker started by one of them is not suspended at boot. */
  async remember(): Promise<void> {
    const { storeRegistry, node } = this.#parts
    if (node !== undefined) this.#before ??= await storeRegistry.all().catch(() => undefined)
  }

  /** Starts the workers; does nothing if it is running or done. Rejects while a store is down: call it again later. */
  async run(): Promise<void> {
    if (this.#state !== 'ready') return
    this.#state = 'running'
    try {
      await this.#suspendAtBoot(await this.#readAll())
      this.#state = 'done'
    } catch (error) {
      this.#state = 'ready'
      throw error
    }
    this.#decide()
    await this.#startAll()
  }

  /** Resolves {@link decided}, so that everything that waits for it can end. */
  close(): void {
    this.#decide()
  }

  async #readAll(): Promise<readonly StoredWorker[]> {
    const { storeRegistry, known } = this.#parts
    const stored = await storeRegistry.all()
    for (const worker of stored) known.take(worker)
    return this.#before ?? stored
  }

  /** Suspends the workers that run only after an explicit start. */
  async #suspendAtBoot(stored: readonly StoredWorker[]): Promise<void> {
    const { assignments, known, log, node, rule, shared } = this.#parts
    if (node === undefined) return
    for (let from = 0; from < stored.length; from += readAtOnce) {
      const some = stored.slice(from, from + readAtOnce)
      const reported = await shared.statuses(some.map((worker) => worker.record.name))
      for (const worker of some) {
        const { name } = worker.record
        const others = (reported.get(name) ?? []).filter((status) => status.alive && status.node !== shared.node)
        for (const status of others) assignments.note(status.node, status)
        // If other nodes run the worker already, this node runs it as well.
        const runsElsewhere = others.some((status) => status.workerId === worker.id && status.state === 'running')
        const { start, reason } = autoStart(rule, worker.record, worker.desired)
        if (start || runsElsewhere || known.get(name)?.id !== worker.id) continue
        log.debug({ worker: name }, `worker "${name}" does not start at boot: ${reason}`)
        node.localWorker({ name, id: worker.id }).suspendAtBoot(worker, reason)
      }
    }
  }

  async #startAll(): Promise<void> {
    const { known, log } = this.#parts
    for (const result of await Promise.allSettled(known.all().map((worker) => this.#start(worker)))) {
      if (result.status === 'rejected') log.error({ err: result.reason }, 'a worker was not started at boot')
    }
  }

  async #start(worker: StoredWorker): Promise<void> {
    const { apply, applyAutoStart, known, node, rule } = this.#parts
    const { desired, record } = worker
    if (node !== undefined && desired.state === 'stopped' && autoStart(rule, record, desired).start) {
      known.take(await applyAutoStart(worker))
    }
    await apply(record.name)
  }
}
