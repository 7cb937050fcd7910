import { type Logger, messageOf } from 'zin'
import { type AutoStartSettings, autoStart } from '../auto-start.js'
import type { Cluster, ClusterMessage, NodeInfo } from '../cluster/cluster.js'
import { reportedOn } from '../cluster/reported.js'
import type { StoreDirectory } from '../store/directory.js'
import type { StoredWorker } from '../store/store.js'
import type { WorkerEvent } from '../types.js'
import { FailingNodes } from './failing-nodes.js'
import { goalOf } from './goal.js'
import { HeldWorkers } from './held-workers.js'
import { Membership } from './membership.js'
import { asksOthers, versionFor } from './rollout.js'
import type { WorkerNode } from './worker-node.js'

export interface ReconcilerParts {
  readonly info: NodeInfo
  readonly directory: StoreDirectory
  readonly cluster: Cluster
  /** Absent in a process that only manages workers. */
  readonly node: WorkerNode | undefined
  readonly rule: AutoStartSettings
  /** Makes a worker that the rule starts at boot one that should run. */
  readonly wake: (worker: StoredWorker) => Promise<StoredWorker>
  readonly log: Logger
  readonly now: () => number
  /** See MembershipParts. */
  readonly leaseMs: number
  readonly emit: (event: WorkerEvent) => void
}

/** Every so many beats all workers are read anew, whatever messages said. */
const beatsPerSync = 12

/**
 * Keeps this process in line with what is stored: it hears of changes, and looks for those it did not hear of with every beat.
 * While a store is down it goes on doing what it did.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #workers = new Map<string, StoredWorker>()
  readonly #held = new HeldWorkers()
  readonly #failing = new FailingNodes()
  /** What was stored before anybody could ask this process for a start; undefined when it could not be read. */
  #before: readonly StoredWorker[] | undefined
  readonly #membership: Membership
  /** The revision up to which everything was read. */
  #synced = -1
  #beats = 0
  #down = false
  #closed = false
  #boot: 'due' | 'begun' | 'done' = 'due'
  #beating: Promise<void> | undefined
  /** Settles when it is known which workers must not start by themselves; nothing is applied before. */
  readonly #decided: Promise<void>
  #decide: () => void = () => undefined
  #unlisten: () => void = () => undefined
  /** What was begun and has not ended. */
  readonly #pending = new Set<Promise<unknown>>()

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
    this.#membership = new Membership({
      ...parts,
      changed: () => this.#background(this.#applyAll()),
      expired: () => this.#background(this.beat()),
    })
    this.#decided = new Promise((resolve) => {
      this.#decide = resolve
    })
  }

  /** Notes what is stored before other plugins start: a worker that one of them starts is not held back at boot. */
  async remember(): Promise<void> {
    const { directory, node } = this.#parts
    if (node !== undefined) this.#before ??= await directory.all().catch(() => undefined)
  }

  /** Takes a lease and subscribes to messages of the other nodes. */
  async join(): Promise<void> {
    const { cluster } = this.#parts
    await this.remember()
    this.#unlisten = cluster.listen((message) => this.#hear(message))
    await this.#membership.join()
  }

  /** Begins to start what should run when a process begins. Stores that are down are asked again with a later beat. */
  boot(): void {
    if (this.#boot !== 'due') return
    this.#boot = 'begun'
    this.#background(this.#startAll())
  }

  /** Renews the lease and catches up with what was not heard. Beats never overlap. */
  beat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined
    })
    return this.#beating
  }

  /** Reads a worker and does what it asks for. */
  async refresh(name: string): Promise<void> {
    const known = this.#workers.get(name)
    const found = await this.#parts.directory.find(name)
    if (this.#closed) return
    if (found === undefined) {
      if (known !== undefined) await this.#remove(known)
      return
    }
    this.#take(found.worker)
    await this.#apply(name)
  }

  /** Begins nothing any more and lets others take its share; what was begun ends first. */
  async close(): Promise<void> {
    this.#closed = true
    this.#decide()
    this.#unlisten()
    await this.#membership.retire()
    await this.#beating
    await Promise.allSettled(this.#pending)
  }

  /** Gives the lease up; no beat takes it again. */
  leave(): Promise<void> {
    return this.#membership.leave()
  }

  async #beat(): Promise<void> {
    const { log, node } = this.#parts
    try {
      const revision = await this.#membership.renew()
      if (this.#closed || revision === undefined) return
      await node?.reportAll()
      this.#beats++
      if (this.#boot !== 'done') this.boot()
      else if (revision !== this.#synced || this.#beats % beatsPerSync === 0) {
        await this.#sync()
        this.#synced = revision
      }
      if (this.#down) log.info({}, 'workers follow what is stored again')
      this.#down = false
    } catch (error) {
      if (!this.#down) {
        log.warn({ err: error }, `workers cannot follow what is stored for now, and go on as they are: ${messageOf(error)}`)
      }
      this.#down = true
    }
  }

  async #startAll(): Promise<void> {
    const { directory, log, node } = this.#parts
    try {
      const stored = await directory.all()
      for (const worker of stored) this.#take(worker)
      if (node !== undefined) await this.#holdBack(this.#before ?? stored)
      this.#boot = 'done'
    } catch (error) {
      this.#boot = 'due'
      throw error
    }
    this.#decide()
    for (const result of await Promise.allSettled([...this.#workers.values()].map((worker) => this.#begin(worker)))) {
      if (result.status === 'rejected') log.error({ err: result.reason }, 'a worker was not started at boot')
    }
  }

  /** Notes which workers wait until somebody starts them. */
  async #holdBack(stored: readonly StoredWorker[]): Promise<void> {
    const { cluster, info, log, rule } = this.#parts
    const reported = await cluster.statuses(stored.map((worker) => worker.record.name))
    for (const worker of stored) {
      const { name } = worker.record
      const others = (reported.get(name) ?? []).filter((status) => status.alive && status.node !== info.id)
      for (const status of others) this.#failing.note(status.node, status)
      // A process that joins others which run it takes its share.
      const runsElsewhere = others.some((status) => status.workerId === worker.id && status.state === 'running')
      const { start, reason } = autoStart(rule, worker.record, worker.desired)
      if (start || runsElsewhere) continue
      log.debug({ worker: name }, `worker "${name}" does not start at boot: ${reason}`)
      this.#held.hold(worker)
    }
  }

  async #begin(worker: StoredWorker): Promise<void> {
    const { node, rule, wake } = this.#parts
    if (node !== undefined && worker.desired.state === 'stopped' && autoStart(rule, worker.record, worker.desired).start) {
      this.#take(await wake(worker))
    }
    await this.#apply(worker.record.name)
  }

  /** Reads everything. What differs is applied beside it: a stop may take minutes, and the lease must be renewed meanwhile. */
  async #sync(): Promise<void> {
    // Those that are known are taken before the stores are read: a worker created in between is not mistaken for a removed one.
    const known = [...this.#workers.values()]
    const stored = await this.#parts.directory.all()
    const names = new Set(stored.map((worker) => worker.record.name))
    for (const worker of stored) this.#take(worker)
    for (const worker of known) if (!names.has(worker.record.name)) this.#background(this.#remove(worker))
    this.#background(this.#applyAll())
  }

  async #applyAll(): Promise<void> {
    await Promise.all([...this.#workers.keys()].map((name) => this.#apply(name)))
  }

  async #apply(name: string): Promise<void> {
    await this.#decided
    const { cluster, info, node } = this.#parts
    const worker = this.#workers.get(name)
    if (worker === undefined || node === undefined || this.#closed) return
    await node.slot({ name, id: worker.id }).apply(worker, async ({ status, version: current }) => {
      const { record, desired } = worker
      const { order, placed, waits } = this.#failing.place(worker, { me: info.id, status, nodes: this.#membership.nodes })
      const run = desired.state === 'running' && record.activeStatus && (placed || waits) && !this.#held.holds(worker)
      const view = { me: info.id, current, begins: status === undefined, order }
      const statuses = run && asksOthers(worker, view) ? await reportedOn(cluster, name) : []
      return { goal: goalOf(worker, { run, version: versionFor(worker, { ...view, statuses }) }), placed }
    })
  }

  #take(worker: StoredWorker): void {
    const { name } = worker.record
    const known = this.#workers.get(name)
    if (known?.id === worker.id && known.generation >= worker.generation) return
    this.#workers.set(name, worker)
  }

  /** A later worker of its name stays. */
  async #remove({ id, record: { name } }: StoredWorker): Promise<void> {
    if (this.#workers.get(name)?.id === id) {
      this.#workers.delete(name)
      this.#held.forget(name)
      this.#failing.forget(name)
    }
    await this.#parts.node?.forget({ name, id })
  }

  #hear(message: ClusterMessage): void {
    if (this.#closed) return
    const { cluster, info, node, now, emit } = this.#parts
    const at = new Date(now()).toISOString()
    switch (message.kind) {
      case 'change':
        this.#background(
          this.refresh(message.worker).then(() => {
            const worker = this.#workers.get(message.worker)
            if (worker === undefined) return emit({ type: 'removed', worker: message.worker, at })
            const { generation, desired } = worker
            emit({ type: 'changed', worker: message.worker, generation, desiredVersion: desired.version, at })
          }),
        )
        return
      case 'status': {
        const { worker, state, generation, version, error } = message.status
        const text = error === undefined ? {} : { error: error.message }
        emit({ type: 'status', worker, node: message.node, state, generation, version, ...text, at })
        const moved = this.#failing.note(message.node, message.status) && this.#workers.get(worker)?.record.placement.nodes !== 'all'
        // Another process took its turn: it may be this one's.
        const turn = message.node !== info.id && this.#isBehind(worker)
        if (moved || turn) this.#background(this.#apply(worker))
        return
      }
      case 'node':
        emit({ type: 'node', node: message.node, state: message.joined ? 'running' : 'stopped', at })
        if (message.node !== info.id) this.#background(this.beat())
        return
      case 'resync':
        this.#background(this.#membership.renew().then(() => this.#sync()))
        return
      case 'cancel':
        if (node?.cancel(message.queue, message.job, message.reason) === true) {
          this.#background(cluster.send({ kind: 'cancelled', request: message.request, node: node.id }))
        }
        return
      case 'cancelled':
      case 'vacant':
        // For those who wait for them.
        return
    }
  }

  #isBehind(name: string): boolean {
    const worker = this.#workers.get(name)
    if (worker === undefined || worker.halted !== undefined) return false
    const version = this.#parts.node?.slot({ name, id: worker.id }).version
    return version !== undefined && version !== worker.desired.version
  }

  /** Failures here are of a store that is down: the next beat makes up for them. */
  #background(work: Promise<unknown>): void {
    const { log } = this.#parts
    const done = work.catch((error: unknown) => log.warn({ err: error }, `a worker was not brought up to date yet: ${messageOf(error)}`))
    this.#pending.add(done)
    void done.finally(() => this.#pending.delete(done))
  }
}
