import { setTimeout as delay } from 'node:timers/promises'
import { type Logger, messageOf } from 'zin'
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

/** How often the leases of other nodes are read while it is not known whether these nodes live, in ms. */
const lookMs = 500

/** A worker that starts here only if one of these nodes lives: they are said to run it, but may have been killed. */
interface Doubtful {
  readonly worker: StoredWorker
  /** Why it does not start otherwise. */
  readonly reason: string
  readonly nodes: readonly string[]
}

/** Starts the workers that should run when a node starts. */
export class Boot {
  readonly #parts: BootParts
  #state: 'ready' | 'running' | 'done' = 'ready'
  /** The workers that were stored before this node could receive start requests; undefined if they could not be read. */
  #before: readonly StoredWorker[] | undefined
  #decide: () => void = () => undefined
  /** By name. */
  readonly #doubtful = new Map<string, Doubtful>()
  readonly #closing = new AbortController()
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
    await Promise.all([this.#startAll(), this.#settleDoubts()])
  }

  /** Whether it is not known yet if a worker starts here. */
  doubts(name: string): boolean {
    return this.#doubtful.has(name)
  }

  /** Resolves {@link decided}, so that everything that waits for it can end. */
  close(): void {
    this.#closing.abort()
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
    const { assignments, known, node, rule, shared } = this.#parts
    if (node === undefined) return
    for (let from = 0; from < stored.length; from += readAtOnce) {
      const some = stored.slice(from, from + readAtOnce)
      const reported = await shared.statuses(some.map((worker) => worker.record.name))
      for (const worker of some) {
        const { name } = worker.record
        const others = (reported.get(name) ?? []).filter((status) => status.alive && status.node !== shared.node)
        for (const status of others) assignments.note(status.node, status)
        const { start, reason } = autoStart(rule, worker.record, worker.desired)
        if (start || worker.desired.awaitsNode === true || known.get(name)?.id !== worker.id) continue
        // If other nodes run the worker already, this node runs it as well.
        const nodes = others.filter(({ state, workerId }) => workerId === worker.id && state === 'running').map((status) => status.node)
        if (nodes.length > 0) this.#doubtful.set(name, { worker, reason, nodes })
        else this.#suspend(worker, reason)
      }
    }
  }

  #suspend(worker: StoredWorker, reason: string): void {
    const { log, node } = this.#parts
    const { name } = worker.record
    log.debug({ worker: name }, `worker "${name}" does not start at boot: ${reason}`)
    node?.localWorker({ name, id: worker.id }).suspendAtBoot(worker, reason)
  }

  /** A node that renews its lease lives, and one whose lease ends does not. */
  async #settleDoubts(): Promise<void> {
    const { apply, known, log, shared } = this.#parts
    const { signal } = this.#closing
    let first: ReadonlyMap<string, number> | undefined
    while (this.#doubtful.size > 0 && !signal.aborted) {
      const nodes = await shared.nodes().catch(() => undefined)
      const leases = new Map(nodes?.flatMap(({ alive, id, leaseUntil }) => (alive ? [[id, leaseUntil] as const] : [])))
      if (nodes !== undefined) first ??= leases
      for (const [name, { nodes: suspects, reason, worker }] of nodes === undefined ? [] : this.#doubtful) {
        const lives = suspects.some((id) => (leases.get(id) ?? 0) > (first?.get(id) ?? Number.POSITIVE_INFINITY))
        if (!lives && suspects.some((id) => leases.has(id))) continue
        this.#doubtful.delete(name)
        if (!lives && known.get(name)?.id === worker.id) this.#suspend(worker, reason)
        void apply(name).catch((error: unknown) =>
          log.warn({ err: error }, `worker "${name}" could not be updated yet: ${messageOf(error)}`),
        )
      }
      if (this.#doubtful.size > 0) await delay(lookMs, undefined, { signal }).catch(() => undefined)
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
