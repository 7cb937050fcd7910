import { type Logger, messageOf, withDeadline } from 'zin'
import type { WorkerEvent } from '../contract.js'
import type { WorkerMessage } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'
import type { StoreRegistry } from '../store/registry.js'
import { Assignments } from './assignments.js'
import { Boot, type BootParts } from './boot.js'
import { desiredStateOf } from './desired-state.js'
import { KnownChanges } from './known-changes.js'
import { KnownWorkers } from './known-workers.js'
import type { Decision, LocalView } from './local-worker-parts.js'
import { needsStatuses, versionFor } from './rollout.js'

export interface ReconcilerParts extends Omit<BootParts, 'storeRegistry' | 'known' | 'assignments' | 'apply'> {
  readonly storeRegistry: StoreRegistry
  /** Whether this node looks for changes that were never published: it leads, or is alone. */
  readonly audits: () => boolean
  readonly now: () => number
  readonly emit: (event: WorkerEvent) => void
  readonly log: Logger
}

/** Every so many polls, the node that audits reads all workers. */
const pollsPerAudit = 12

/** Most changed workers that are read one by one; more, and all are read. */
const mostReadSingly = 200

/** Deadline of telling other nodes that this one leaves, in ms. */
const leaveMs = 1_000

/** Keeps this node in line with what is stored, by messages, and by a poll for what they missed. While a store is down, nothing changes. */
export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #known = new KnownWorkers()
  readonly #assignments = new Assignments()
  readonly #changes = new KnownChanges()
  readonly #boot: Boot
  #polls = 0
  #down = false
  /** Messages may have been missed. */
  #missed = false
  #closed = false
  #polling: Promise<void> | undefined
  #unlisten: readonly (() => void)[] = []
  /** Background work that has not ended. */
  readonly #pending = new Set<Promise<unknown>>()

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
    this.#boot = new Boot({ ...parts, known: this.#known, assignments: this.#assignments, apply: (name) => this.#apply(name) })
  }

  /** See {@link Boot.remember}. */
  remember(): Promise<void> {
    return this.#boot.remember()
  }

  /** Subscribes to messages, and notes the revision from which changes count. */
  async join(): Promise<void> {
    const { shared } = this.#parts
    await this.remember()
    this.#unlisten = [
      shared.listen((message) => this.#receive(message)),
      shared.onNodes((joined, left) => this.#nodesChanged(joined, left)),
      shared.onMissed(() => {
        this.#missed = true
        this.#background(this.poll())
      }),
    ]
    this.#changes.begin((await shared.news(-1)).revision)
  }

  /** Begins to start what should run. While a store is down, later polls retry it. */
  boot(): void {
    this.#background(this.#boot.run())
  }

  /** Catches up with changes that no message told of. Polls never overlap. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  /** Cordons this node, so that others take its share, and begins nothing more. Ends when what was begun has ended. */
  async close(): Promise<void> {
    this.#closed = true
    this.#boot.close()
    for (const unlisten of this.#unlisten) unlisten()
    await this.#tell(() => this.#parts.shared.describe({ consumes: false }))
    // What still waits for a store that does not respond does nothing any more once it has a response.
    await withDeadline(Promise.allSettled([this.#polling, ...this.#pending]), leaveMs, '').catch(() => undefined)
  }

  /** Deletes the statuses of this node. */
  deregister(): Promise<void> {
    return this.#tell(() => this.#parts.shared.leave())
  }

  async #poll(): Promise<void> {
    const { audits, log, node, shared } = this.#parts
    try {
      const { changed, reported, revision } = await shared.news(this.#changes.revision)
      if (this.#closed) return
      if (!reported) await node?.restore()
      this.#polls++
      const audit = this.#polls % pollsPerAudit === 0 && audits()
      if (!this.#boot.done) {
        this.boot()
        return
      }
      const names = changed === 'all' ? 'all' : this.#changes.unknown(changed)
      if (names === 'all' || names.length > mostReadSingly || this.#missed || this.#down || audit) await this.#readAll(audit)
      else await Promise.all(names.map((name) => this.#read(name)))
      this.#changes.take(revision)
      this.#missed = false
      if (this.#down) log.info({}, 'workers follow what is stored again')
      this.#down = false
    } catch (error) {
      if (!this.#down) {
        log.warn({ err: error }, `workers cannot follow what is stored for now, and go on as they are: ${messageOf(error)}`)
      }
      this.#down = true
    }
  }

  /** Reads a worker, and applies it in the background. */
  async #read(name: string): Promise<void> {
    const known = this.#known.get(name)
    const found = await this.#parts.storeRegistry.find(name)
    if (this.#closed) return
    if (found !== undefined) {
      this.#known.take(found.worker)
      this.#background(this.#apply(name))
    } else if (known !== undefined) this.#background(this.#remove(known))
  }

  /**
   * Reads all workers, and applies them in the background: a stop may take minutes.
   *
   * @param audit publish what differs, since it may never have been published.
   */
  async #readAll(audit: boolean): Promise<void> {
    const { storeRegistry, shared } = this.#parts
    // Before the stores are read: a worker that is created meanwhile is not mistaken for a removed one.
    const before = this.#known.all()
    const stored = await storeRegistry.all()
    if (this.#closed) return
    const names = new Set(stored.map((worker) => worker.record.name))
    const removed = before.filter(({ record }) => !names.has(record.name))
    const changed = stored.filter((worker) => this.#known.take(worker))
    for (const worker of removed) this.#background(this.#remove(worker))
    this.#background(this.#applyAll())
    if (audit) for (const { record } of [...changed, ...removed]) await shared.publishChange(record.name)
  }

  async #applyAll(): Promise<void> {
    await Promise.all(this.#known.names.map((name) => this.#apply(name)))
  }

  async #apply(name: string): Promise<void> {
    await this.#boot.decided
    const { node, shared } = this.#parts
    const worker = this.#known.get(name)
    if (worker === undefined || node === undefined || this.#closed) return
    const key = { name, id: worker.id }
    const view = { me: shared.node, nodes: shared.known(), status: undefined }
    // A worker that is not assigned to this node and never was needs no status.
    if (node.find(key)?.status() === undefined && !this.#assignments.of(worker, view).assigned) node.dropEarlier(key)
    else await node.localWorker(key).apply(worker, (local) => this.#decide(worker, local))
  }

  async #decide(worker: StoredWorker, { status, suspended, version: current }: LocalView): Promise<Decision> {
    const { shared } = this.#parts
    const { record, desired } = worker
    const view = { me: shared.node, nodes: shared.known(), status }
    const { assigned, order, stalledTurn, standby } = this.#assignments.of(worker, view)
    const run = desired.state === 'running' && record.activeStatus && (assigned || standby) && !suspended(desired)
    const rollout = { me: shared.node, current, begins: status === undefined, order }
    const statuses = run && needsStatuses(worker, rollout) ? await shared.statusesOf(record.name) : []
    const version = versionFor(worker, { ...rollout, statuses })
    return { desired: desiredStateOf(worker, { run, version }), assigned, stalledTurn }
  }

  /** A later worker of its name stays. */
  async #remove(worker: StoredWorker): Promise<void> {
    const { name } = worker.record
    if (this.#known.remove(worker)) this.#assignments.forget(name)
    await this.#parts.node?.forget({ name, id: worker.id })
  }

  #nodesChanged(joined: readonly string[], left: readonly string[]): void {
    if (this.#closed) return
    const { emit } = this.#parts
    const at = this.#time()
    for (const node of joined) emit({ type: 'node', node, state: 'running', at })
    for (const node of left) emit({ type: 'node', node, state: 'stopped', at })
    if (this.#boot.done) this.#background(this.#applyAll())
  }

  #receive(message: WorkerMessage): void {
    if (this.#closed) return
    switch (message.kind) {
      case 'change':
        this.#background(this.#receiveChange(message.worker, message.revision))
        return
      case 'status':
        this.#receiveStatus(message.node, message.status)
        return
      case 'cancel': {
        const { node, shared } = this.#parts
        const cancelled = node?.cancel(message.queue, message.job, message.reason) === true
        if (cancelled) this.#background(shared.send({ kind: 'cancelled', request: message.request, node: shared.node }))
        return
      }
      case 'cancelled':
      case 'forgotten':
        // Callers that wait for it listen themselves.
        return
    }
  }

  async #receiveChange(name: string, revision: number): Promise<void> {
    await this.#read(name)
    this.#changes.heard(name, revision)
    const worker = this.#known.get(name)
    const at = this.#time()
    this.#parts.emit(
      worker === undefined
        ? { type: 'removed', worker: name, at }
        : { type: 'changed', worker: name, generation: worker.generation, desiredVersion: worker.desired.version, at },
    )
  }

  #receiveStatus(node: string, status: Extract<WorkerMessage, { kind: 'status' }>['status']): void {
    const { emit, shared } = this.#parts
    const { worker, state, generation, version, error } = status
    const text = error === undefined ? {} : { error: error.message }
    emit({ type: 'status', worker, node, state, generation, version, ...text, at: this.#time() })
    const moved = this.#assignments.note(node, status)
    // Another node may have finished its part of a rollout for which this one waits.
    if (moved || (node !== shared.node && this.#waitsInRollout(worker))) this.#background(this.#apply(worker))
  }

  #waitsInRollout(name: string): boolean {
    const worker = this.#known.get(name)
    if (worker === undefined || worker.halted !== undefined) return false
    const version = this.#parts.node?.find({ name, id: worker.id })?.version
    return version !== undefined && version !== worker.desired.version
  }

  #time(): string {
    return new Date(this.#parts.now()).toISOString()
  }

  /** It fails when a store is down; the next poll makes up for it. */
  #background(work: Promise<unknown>): void {
    const { log } = this.#parts
    const done = work.catch((error: unknown) => log.warn({ err: error }, `a worker was not brought up to date yet: ${messageOf(error)}`))
    this.#pending.add(done)
    void done.finally(() => this.#pending.delete(done))
  }

  /** Nodes that do not hear of it in time learn it from the lease. */
  async #tell(send: () => Promise<unknown>): Promise<void> {
    try {
      await withDeadline(send(), leaveMs, `no response within ${leaveMs} ms`)
    } catch (error) {
      this.#parts.log.debug({ err: error }, 'other nodes were not told that this one leaves')
    }
  }
}
