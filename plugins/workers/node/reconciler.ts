import { type Logger, messageOf, withDeadline } from 'zin'
import { type AutoStartSettings, autoStart } from '../auto-start.js'
import type { WorkerEvent } from '../contract.js'
import type { WorkerMessage } from '../shared/contract.js'
import type { SharedState } from '../shared/state.js'
import type { StoredWorker } from '../store/contract.js'
import type { StoreDirectory } from '../store/directory.js'
import { FailingNodes } from './failing-nodes.js'
import { goalOf } from './goal.js'
import { HeldWorkers } from './held-workers.js'
import { KnownChanges } from './known-changes.js'
import { asksOthers, versionFor } from './rollout.js'
import type { WorkerNode } from './worker-node.js'

export interface ReconcilerParts {
  readonly directory: StoreDirectory
  readonly shared: SharedState
  /** Absent in a process that only manages workers. */
  readonly node: WorkerNode | undefined
  /** Whether this process looks for changes that nobody was told of: it leads, or is alone. */
  readonly audits: () => boolean
  readonly rule: AutoStartSettings
  /** Makes a worker that the rule starts at boot one that should run. */
  readonly wake: (worker: StoredWorker) => Promise<StoredWorker>
  readonly log: Logger
  readonly now: () => number
  readonly emit: (event: WorkerEvent) => void
}

/** Every so many polls one process reads all workers, whatever it was told. */
const pollsPerAudit = 12

/** Workers whose statuses are read at once, and changed ones that are read one by one. */
const readAtOnce = 200

/** How long others may take to be told that this process leaves, in ms. */
const leaveMs = 1_000

/**
 * Keeps this process in line with what is stored: it hears of changes, and asks with every poll for those it did not hear of.
 * While a store is down it goes on doing what it did.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #workers = new Map<string, StoredWorker>()
  readonly #held = new HeldWorkers()
  readonly #failing = new FailingNodes()
  readonly #changes = new KnownChanges()
  /** What was stored before anybody could ask this process for a start; undefined when it could not be read. */
  #before: readonly StoredWorker[] | undefined
  #polls = 0
  #down = false
  /** Messages may have been missed. */
  #missed = false
  #closed = false
  #boot: 'due' | 'begun' | 'done' = 'due'
  #polling: Promise<void> | undefined
  /** Settles when it is known which workers must not start by themselves; nothing is applied before. */
  readonly #decided: Promise<void>
  #decide: () => void = () => undefined
  #unlisten: readonly (() => void)[] = []
  /** What was begun and has not ended. */
  readonly #pending = new Set<Promise<unknown>>()

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
    this.#decided = new Promise((resolve) => {
      this.#decide = resolve
    })
  }

  /** Notes what is stored before other plugins start: a worker that one of them starts is not held back at boot. */
  async remember(): Promise<void> {
    const { directory, node } = this.#parts
    if (node !== undefined) this.#before ??= await directory.all().catch(() => undefined)
  }

  /** Subscribes to what happens, and notes from when on. */
  async join(): Promise<void> {
    const { shared } = this.#parts
    await this.remember()
    this.#unlisten = [
      shared.listen((message) => this.#hear(message)),
      shared.onNodes((joined, left) => this.#nodesChanged(joined, left)),
      shared.onMissed(() => {
        this.#missed = true
        this.#background(this.poll())
      }),
    ]
    this.#changes.begin((await shared.news(-1)).revision)
  }

  /** Begins to start what should run when a process begins. Stores that are down are asked again with a later poll. */
  boot(): void {
    if (this.#boot !== 'due') return
    this.#boot = 'begun'
    this.#background(this.#startAll())
  }

  /** Catches up with what was not heard. Polls never overlap. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  /** Begins nothing any more and lets others take its share; what was begun ends first. */
  async close(): Promise<void> {
    this.#closed = true
    this.#decide()
    for (const unlisten of this.#unlisten) unlisten()
    await this.#inTime(() => this.#parts.shared.describe({ consumes: false }))
    await this.#polling
    await Promise.allSettled(this.#pending)
  }

  /** Forgets what this process said. */
  leave(): Promise<void> {
    return this.#inTime(() => this.#parts.shared.leave())
  }

  async #poll(): Promise<void> {
    const { audits, log, node, shared } = this.#parts
    try {
      const { changed, reported, revision } = await shared.news(this.#changes.revision)
      if (this.#closed) return
      if (!reported) await node?.restore()
      this.#polls++
      const audit = this.#polls % pollsPerAudit === 0 && audits()
      if (this.#boot !== 'done') {
        this.boot()
        return
      }
      const names = changed === 'all' ? 'all' : this.#changes.unknown(changed)
      if (names === 'all' || names.length > readAtOnce || this.#missed || this.#down || audit) await this.#sync(audit)
      else await Promise.all(names.map((name) => this.#load(name)))
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
    const { log, rule, shared } = this.#parts
    for (let from = 0; from < stored.length; from += readAtOnce) {
      const some = stored.slice(from, from + readAtOnce)
      const reported = await shared.statuses(some.map((worker) => worker.record.name))
      for (const worker of some) {
        const { name } = worker.record
        const others = (reported.get(name) ?? []).filter((status) => status.alive && status.node !== shared.node)
        for (const status of others) this.#failing.note(status.node, status)
        // A process that joins others which run it takes its share.
        const runsElsewhere = others.some((status) => status.workerId === worker.id && status.state === 'running')
        const { start, reason } = autoStart(rule, worker.record, worker.desired)
        if (start || runsElsewhere) continue
        log.debug({ worker: name }, `worker "${name}" does not start at boot: ${reason}`)
        this.#held.hold(worker)
      }
    }
  }

  async #begin(worker: StoredWorker): Promise<void> {
    const { node, rule, wake } = this.#parts
    if (node !== undefined && worker.desired.state === 'stopped' && autoStart(rule, worker.record, worker.desired).start) {
      this.#take(await wake(worker))
    }
    await this.#apply(worker.record.name)
  }

  /** Reads a worker; what it asks for is done beside it. */
  async #load(name: string): Promise<void> {
    const known = this.#workers.get(name)
    const found = await this.#parts.directory.find(name)
    if (this.#closed) return
    if (found !== undefined) this.#take(found.worker)
    if (found !== undefined) this.#background(this.#apply(name))
    else if (known !== undefined) this.#background(this.#remove(known))
  }

  /**
   * Reads everything. What differs is applied beside it: a stop may take minutes.
   *
   * @param audit the others are told of what differs: it may be that nobody told them.
   */
  async #sync(audit: boolean): Promise<void> {
    const { directory, shared } = this.#parts
    // Those that are known are taken before the stores are read: a worker created in between is not mistaken for a removed one.
    const known = new Map(this.#workers)
    const stored = await directory.all()
    if (this.#closed) return
    const names = new Set(stored.map((worker) => worker.record.name))
    const removed = [...known.values()].filter(({ record }) => !names.has(record.name))
    const changed = stored.filter((worker) => this.#take(worker))
    for (const worker of removed) this.#background(this.#remove(worker))
    this.#background(this.#applyAll())
    if (audit) for (const { record } of [...changed, ...removed]) await shared.publishChange(record.name)
  }

  async #applyAll(): Promise<void> {
    await Promise.all([...this.#workers.keys()].map((name) => this.#apply(name)))
  }

  async #apply(name: string): Promise<void> {
    await this.#decided
    const { node, shared } = this.#parts
    const worker = this.#workers.get(name)
    if (worker === undefined || node === undefined || this.#closed) return
    const place = { me: shared.node, nodes: shared.known() }
    const owner = { name, id: worker.id }
    // Where it is not placed and was never, there is nothing to do and nothing to say.
    if (node.find(owner) === undefined && !this.#failing.place(worker, { ...place, status: undefined }).placed) {
      node.dropEarlier(owner)
      return
    }
    await node.slot(owner).apply(worker, async ({ status, version: current }) => {
      const { record, desired } = worker
      const { first, order, placed, waits } = this.#failing.place(worker, { ...place, status, nodes: shared.known() })
      const run = desired.state === 'running' && record.activeStatus && (placed || waits) && !this.#held.holds(worker)
      const view = { me: shared.node, current, begins: status === undefined, order }
      const statuses = run && asksOthers(worker, view) ? await shared.statusesOf(name) : []
      return { goal: goalOf(worker, { run, version: versionFor(worker, { ...view, statuses }) }), placed, checksStalled: first }
    })
  }

  /** True when that is news. */
  #take(worker: StoredWorker): boolean {
    const { name } = worker.record
    const known = this.#workers.get(name)
    if (known?.id === worker.id && known.generation >= worker.generation) return false
    this.#workers.set(name, worker)
    return true
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

  #nodesChanged(joined: readonly string[], left: readonly string[]): void {
    if (this.#closed) return
    const { emit, now } = this.#parts
    const at = new Date(now()).toISOString()
    for (const node of joined) emit({ type: 'node', node, state: 'running', at })
    for (const node of left) emit({ type: 'node', node, state: 'stopped', at })
    if (this.#boot === 'done') this.#background(this.#applyAll())
  }

  #hear(message: WorkerMessage): void {
    if (this.#closed) return
    const { node, now, emit, shared } = this.#parts
    const at = new Date(now()).toISOString()
    switch (message.kind) {
      case 'change':
        this.#background(
          this.#load(message.worker).then(() => {
            this.#changes.heard(message.worker, message.revision)
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
        const moved = this.#failing.note(message.node, message.status)
        // Another process took its turn: it may be this one's.
        const turn = message.node !== shared.node && this.#isBehind(worker)
        if (moved || turn) this.#background(this.#apply(worker))
        return
      }
      case 'cancel':
        if (node?.cancel(message.queue, message.job, message.reason) === true) {
          this.#background(shared.send({ kind: 'cancelled', request: message.request, node: node.id }))
        }
        return
      case 'cancelled':
        // For who waits for it.
        return
    }
  }

  #isBehind(name: string): boolean {
    const worker = this.#workers.get(name)
    if (worker === undefined || worker.halted !== undefined) return false
    const version = this.#parts.node?.find({ name, id: worker.id })?.version
    return version !== undefined && version !== worker.desired.version
  }

  /** Failures here are of a store that is down: the next poll makes up for them. */
  #background(work: Promise<unknown>): void {
    const { log } = this.#parts
    const done = work.catch((error: unknown) => log.warn({ err: error }, `a worker was not brought up to date yet: ${messageOf(error)}`))
    this.#pending.add(done)
    void done.finally(() => this.#pending.delete(done))
  }

  /** Others that are not told in time learn it from the lease. */
  async #inTime(tell: () => Promise<unknown>): Promise<void> {
    try {
      await withDeadline(tell(), leaveMs, 'no answer')
    } catch (error) {
      this.#parts.log.debug({ err: error }, 'other processes were not told that this one leaves')
    }
  }
}
