import { type Logger, messageOf, withDeadline } from 'zin'
import type { WorkerEvent } from '../contract.js'
import type { GivenCode } from '../control/given-code.js'
import { isAlone } from '../record/placement.js'
import type { RateLimit } from '../record/record.js'
import type { NodeStatus, WorkerMessage } from '../shared/contract.js'
import type { StoredWorker } from '../store/contract.js'
import type { StoreRegistry } from '../store/registry.js'
import { type Assignment, Assignments } from './assignments.js'
import { Boot, type BootParts } from './boot.js'
import type { Claims } from './claims.js'
import { desiredStateOf } from './desired-state.js'
import { KnownChanges } from './known-changes.js'
import { KnownWorkers } from './known-workers.js'
import type { Decision, LocalView } from './local-worker-parts.js'
import { needsStatuses, versionFor } from './rollout.js'

export interface ReconcilerParts extends Omit<BootParts, 'storeRegistry' | 'known' | 'assignments' | 'apply'> {
  readonly storeRegistry: StoreRegistry
  /** Whether this node looks for changes that were never published, because it is the leader or the only node. */
  readonly audits: () => boolean
  /** Notes that a node applies a start that no node could apply at first. */
  readonly takeStart: (worker: StoredWorker) => Promise<StoredWorker>
  /** The functions that were passed with workers. */
  readonly code: Pick<GivenCode, 'awaits' | 'forget' | 'ownerOf' | 'owners'>
  /** This node's claims to workers that run on one node at a time. */
  readonly claims: Pick<Claims, 'has' | 'holds' | 'close'>
  readonly now: () => number
  readonly emit: (event: WorkerEvent) => void
  readonly log: Logger
}

/** The auditing node reads all workers every 12th poll; every node then also forgets nodes that no longer exist. */
const pollsPerAudit = 12

/** Maximum number of changed workers to read one by one; if there are more, all workers are read. */
const mostReadSingly = 200

/** How long a node that drains waits until its workers take no more jobs, before it counts the running ones, in ms. */
const holdMs = 2_000

/** Deadline for notifying other nodes that this one is leaving, in ms. */
const leaveMs = 1_000

/**
 * Keeps the workers of this node in line with the stored ones: on each message, and by polling for changes that no message announced.
 * While a store is down, nothing changes.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #known = new KnownWorkers()
  readonly #assignments = new Assignments()
  readonly #changes = new KnownChanges()
  readonly #boot: Boot
  #polls = 0
  #down = false
  /** Whether messages may have been missed. */
  #missed = false
  #closed = false
  /** Whether other nodes must still be told that this one drains, or no longer does. */
  #drainUntold = false
  #polling: Promise<void> | undefined
  #unlisten: readonly (() => void)[] = []
  /** Background work that has not ended. */
  readonly #pending = new Set<Promise<unknown>>()

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
    this.#boot = new Boot({ ...parts, known: this.#known, assignments: this.#assignments, apply: (name) => this.#apply(name) })
  }

  /** A stored worker as messages keep it up to date; undefined if it is unknown, or if changes cannot be followed for now. */
  kept(name: string): StoredWorker | undefined {
    return this.#down || this.#missed ? undefined : this.#known.get(name)
  }

  /** See {@link KnownWorkers.limitOf}. */
  limitOf(queue: string): RateLimit | undefined {
    return this.#known.limitOf(queue)
  }

  /** See {@link Boot.remember}. */
  remember(): Promise<void> {
    return this.#boot.remember()
  }

  /** Subscribes to messages, and reads the current revision, after which changes count. */
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

  /** Begins to start the workers that should run. If a store is down, later polls retry. */
  boot(): void {
    this.#background(this.#boot.run())
  }

  /** Reads changes that no message announced. Polls never overlap. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  /** Cordons this node, so that other nodes run its workers, and starts no more work. Waits up to 1 s for pending work. */
  async close(): Promise<void> {
    this.#closed = true
    this.#boot.close()
    for (const unlisten of this.#unlisten) unlisten()
    await this.#notify(() => Promise.all([this.#parts.shared.describe({ consumes: false }), this.#parts.claims.close()]))
    // Work that is still waiting for an unresponsive store has no effect once the response arrives.
    await withDeadline(Promise.allSettled([this.#polling, ...this.#pending]), leaveMs, '').catch(() => undefined)
  }

  /** The id of a worker as this node last read it. */
  idOf(name: string): string | undefined {
    return this.#known.get(name)?.id
  }

  /** Applies a worker again in the background, because this node may run it now, or may no longer. */
  reconsider(name: string): void {
    if (!this.#closed) this.#background(this.#apply(name))
  }

  /** Stops the workers that only had to finish their jobs, once these have ended. Call it every second or so. */
  drain(): void {
    if (this.#drainUntold && !this.#closed) this.#background(this.#setDraining(this.#parts.shared.draining))
    for (const name of this.#parts.node?.drained() ?? []) this.reconsider(name)
  }

  /** Deletes the statuses of this node. */
  deregister(): Promise<void> {
    return this.#notify(() => this.#parts.shared.leave())
  }

  async #poll(): Promise<void> {
    const { audits, log, node, shared } = this.#parts
    try {
      const { changed, reported, revision } = await shared.news(this.#changes.revision)
      if (this.#closed) return
      // A store that lost its data may have a few newer statuses again.
      if (!reported || this.#missed) await node?.restore()
      this.#polls++
      const twelfth = this.#polls % pollsPerAudit === 0
      const audit = twelfth && audits()
      if (twelfth) this.#assignments.prune(shared.known())
      if (!this.#boot.done) {
        this.boot()
        return
      }
      const names = changed === 'all' ? 'all' : this.#changes.unknown(changed)
      const readAll = names === 'all' || names.length > mostReadSingly || this.#missed || this.#down || audit
      // Reset before reading: messages missed from here on need another read.
      this.#missed = false
      if (readAll) await this.#readAll(audit)
      else await Promise.all(names.map((name) => this.#read(name)))
      this.#changes.take(revision)
      if (this.#down) log.info({}, 'workers follow stored changes again')
      this.#down = false
    } catch (error) {
      if (!this.#down) {
        log.warn({ err: error }, `workers cannot follow stored changes for now, and continue unchanged: ${messageOf(error)}`)
      }
      this.#down = true
    }
  }

  /** Reads a worker and applies it in the background. */
  async #read(name: string): Promise<void> {
    const { code, storeRegistry } = this.#parts
    const known = this.#known.get(name)
    // Taken before the store is read: functions are kept after their worker is stored.
    const owner = code.ownerOf(name)
    const found = await storeRegistry.find(name)
    if (owner !== undefined && found?.worker.id !== owner) code.forget(name, owner)
    if (this.#closed) return
    if (found !== undefined) {
      this.#known.take(found.worker)
      this.#background(this.#apply(name))
    } else if (known !== undefined) this.#background(this.#remove(known))
  }

  /**
   * Reads all workers and applies them in the background, because a stop may take minutes.
   *
   * @param audit whether to publish the differences, which may never have been published.
   */
  async #readAll(audit: boolean): Promise<void> {
    const { code, storeRegistry, shared } = this.#parts
    // Taken before the stores are read, so that a worker created meanwhile is not mistaken for a removed one.
    const before = this.#known.all()
    const owners = code.owners()
    const stored = await storeRegistry.all()
    const ids = new Set(stored.map((worker) => worker.id))
    for (const [name, id] of owners) if (!ids.has(id)) code.forget(name, id)
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
    const { claims, code, node, shared } = this.#parts
    const worker = this.#known.get(name)
    if (worker === undefined || node === undefined || this.#closed || this.#boot.doubts(name)) return
    // Its creation publishes it.
    if (code.awaits(worker.id)) return
    const key = { name, id: worker.id }
    // A worker that is not assigned to this node and never was needs no status.
    const { assigned } = this.#assignment(worker, undefined)
    if (assigned && worker.desired.awaitsNode === true) {
      this.#known.take(await this.#parts.takeStart(worker))
      return this.#apply(name)
    }
    const isOthers = !assigned && !claims.has(worker.id)
    if (node.find(key)?.status() === undefined && isOthers) node.dropEarlier(key)
    else await node.localWorker(key).apply(worker, (local) => this.#decide(worker, local), !wantsRun(worker) || shared.draining)
  }

  #assignment(worker: StoredWorker, status: NodeStatus | undefined): Assignment {
    const { claims, shared } = this.#parts
    const owns = isAlone(worker.record) && claims.has(worker.id) && claims.holds(worker.id)
    return this.#assignments.of(worker, { me: shared.node, nodes: shared.known(), status, owns })
  }

  async #decide(worker: StoredWorker, { busy, status, suspended, version: current }: LocalView): Promise<Decision> {
    const { shared } = this.#parts
    const { record } = worker
    const { assigned, order, stalledTurn, standby } = this.#assignment(worker, status)
    const wants = wantsRun(worker) && !suspended(worker.desired)
    const drains = wants && shared.draining && busy > 0
    const run = wants && (assigned || standby || drains)
    const rollout = { me: shared.node, current, begins: status === undefined, order }
    const statuses = run && !drains && needsStatuses(worker, rollout) ? await shared.statusesOf(record.name) : []
    const version = versionFor(worker, { ...rollout, statuses })
    const desired = desiredStateOf(worker, { run, version })
    const paused = desired.paused || drains
    return { desired: { ...desired, paused }, assigned, stalledTurn, alone: isAlone(record), drains }
  }

  /** Removes a worker from this node, but not a later one with the same name. */
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
      case 'drain':
        if (message.node === this.#parts.shared.node) this.#background(this.#setDraining(message.draining))
        return
      case 'cancelled':
      case 'forgotten':
        // Handled by the callers that wait for it.
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
    // This node may have been waiting for that node in a rollout.
    if (moved || (node !== shared.node && this.#waitsInRollout(worker))) this.#background(this.#apply(worker))
  }

  /**
   * Publishes that this node drains only after it has stopped taking jobs and stored how many run, so that whoever sees that it drains reads
   * no earlier number. The label outlives a lost lease or store, and ends with this process.
   */
  async #setDraining(draining: boolean): Promise<void> {
    const { log, node, shared } = this.#parts
    if (shared.draining !== draining) {
      log.info({}, draining ? 'this node drains: it takes no new jobs and finishes the running ones' : 'this node takes jobs again')
      shared.drain(draining)
      this.#drainUntold = true
    }
    if (!this.#drainUntold) return
    if (draining) await withDeadline(this.#hold(), holdMs, '').catch(() => undefined)
    if (this.#closed) return
    // Repeated later.
    if (draining && (await node?.recount()) === false) return
    // It may have been undone meanwhile.
    if (this.#closed || shared.draining !== draining) return
    await shared.describe({ draining })
    if (shared.draining === draining) this.#drainUntold = false
  }

  /** Applies all workers. Does not wait for those that were stopping already: they take no jobs. */
  async #hold(): Promise<void> {
    const { node } = this.#parts
    const ends = this.#known.all().flatMap(({ id, record: { name } }) => {
      const stopping = node?.find({ name, id })?.state === 'stopping'
      const applied = this.#apply(name)
      this.#background(applied)
      return stopping ? [] : [applied]
    })
    await Promise.allSettled(ends)
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

  /** Runs work in the background. It fails while a store is down; the next poll makes up for it. */
  #background(work: Promise<unknown>): void {
    const { log } = this.#parts
    const done = work.catch((error: unknown) => log.warn({ err: error }, `a worker could not be updated yet: ${messageOf(error)}`))
    this.#pending.add(done)
    void done.finally(() => this.#pending.delete(done))
  }

  /** Nodes that cannot be notified in time notice when the lease ends. */
  async #notify(send: () => Promise<unknown>): Promise<void> {
    try {
      await withDeadline(send(), leaveMs, `no response within ${leaveMs} ms`)
    } catch (error) {
      this.#parts.log.debug({ err: error }, 'other nodes were not notified that this one is leaving')
    }
  }
}

function wantsRun({ desired, record }: StoredWorker): boolean {
  return desired.state === 'running' && record.activeStatus
}
