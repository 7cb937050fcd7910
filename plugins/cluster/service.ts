import { type Clock, type Logger, messageOf, withDeadline, ZinError } from 'zin'
import type { Cluster, ClusterNode, LeasedNode, MessageKind, NodeInfo, NodeLabels, NodesChange, RoleListener } from './contract.js'
import { clusterErrors } from './errors.js'
import { Listeners } from './listeners.js'
import { Members } from './members.js'
import { Roles } from './roles.js'
import { type ClusterStore, type Envelope, nodesChanged, type Renewal, roleVacant } from './store/contract.js'

export interface ClusterOptions {
  readonly store: ClusterStore
  readonly node: Omit<NodeInfo, 'labels'>
  readonly clock: Clock
  readonly log: Logger
  /** How long a node counts as alive after it renewed its lease, in ms. */
  readonly leaseMs: number
}

/** A cluster with what its owner has to do: open it, let it beat three times per lease, and close it. */
export interface OwnedCluster extends Cluster {
  /** Subscribes to messages and takes a lease. */
  open(): Promise<void>
  /** Renews the lease. Never rejects. */
  heartbeat(): Promise<void>
  /** Forgets what is old, in the process that leads. */
  sweep(): Promise<void>
  /** Gives the lease and all roles up. */
  close(): Promise<void>
}

/** Longest wait for the store, in ms; and for others to be told that this process leaves. */
const answerMs = 5_000
const leaveMs = 1_000

/** Leases are looked at so long after their end, in ms. */
const graceMs = 20

/** Every so many heartbeats it tries for roles of which nobody said that they are vacant. */
const beatsPerAttempt = 12

/** Longest JSON of the labels of a node. */
const longestLabels = 4_096

export function createCluster(options: ClusterOptions): OwnedCluster {
  return new ClusterService(options)
}

class ClusterService implements OwnedCluster {
  readonly #options: ClusterOptions
  readonly #members = new Members()
  readonly #roles: Roles
  readonly #messages = new Map<string, Listeners<[body: unknown, from: string]>>()
  readonly #onNodes: Listeners<[change: NodesChange]>
  readonly #onMissed: Listeners<[]>
  #labels: NodeLabels = {}
  #state: 'new' | 'member' | 'left' = 'new'
  /** When the last renewal was asked for, by the monotonic clock. */
  #renewedAt = Number.NEGATIVE_INFINITY
  /** The end of the last write of the lease; a late one never undoes a later one. */
  #tail: Promise<unknown> = Promise.resolve()
  /** A read of the nodes is about to begin. */
  #reading = false
  #expiry: NodeJS.Timeout | undefined
  #lossWatch: NodeJS.Timeout | undefined
  #down = false
  #beats = 0

  constructor(options: ClusterOptions) {
    const { log, node, store } = options
    this.#options = options
    this.#onNodes = new Listeners(log)
    this.#onMissed = new Listeners(log)
    const { acquire, release } = {
      acquire: (role: string, id: string) => this.#ask(store.acquire(role, id)),
      release: (role: string, id: string) => this.#ask(store.release(role, id)),
    }
    this.#roles = new Roles({ store: { acquire, release }, node: node.id, holdsLease: () => this.#holdsLease(), log })
  }

  get kind(): Cluster['kind'] {
    return this.#options.store.kind
  }

  get node(): NodeInfo {
    return { ...this.#options.node, labels: this.#labels }
  }

  nodes(): readonly ClusterNode[] {
    return this.#members.nodes
  }

  async readNodes(): Promise<readonly LeasedNode[]> {
    return (await this.#ask(this.#options.store.read())).nodes
  }

  onNodes(listener: (change: NodesChange) => void): () => void {
    return this.#onNodes.add(listener)
  }

  async label(labels: NodeLabels): Promise<void> {
    const all = { ...this.#labels, ...labels }
    const length = JSON.stringify(all).length
    if (length > longestLabels) {
      throw clusterErrors.CLUSTER_MISCONFIGURED(`the labels of a node may have ${longestLabels} characters of JSON, these have ${length}`)
    }
    this.#labels = all
    if (this.#state === 'member') await this.#renew(true)
  }

  async send<Body>({ name }: MessageKind<Body>, body: Body): Promise<void> {
    const { node, store } = this.#options
    await this.#ask(store.publish({ kind: name, from: node.id, body }))
  }

  on<Body>({ name }: MessageKind<Body>, listener: (body: Body, from: string) => void): () => void {
    const listeners = this.#messages.get(name) ?? new Listeners(this.#options.log)
    this.#messages.set(name, listeners)
    return listeners.add((body, from) => listener(body as Body, from))
  }

  onMissed(listener: () => void): () => void {
    return this.#onMissed.add(listener)
  }

  lead(role: string, listener?: RoleListener) {
    return this.#roles.lead(role, listener)
  }

  async isCurrent(role: string, epoch: number): Promise<boolean> {
    return (await this.#ask(this.#options.store.epoch(role))) === epoch
  }

  isUnavailable(error: unknown): boolean {
    return (error instanceof ZinError && error.code === 'CLUSTER_UNAVAILABLE') || this.#options.store.isUnavailable(error)
  }

  async open(): Promise<void> {
    const { store } = this.#options
    await store.open({ onMessage: (message) => this.#receive(message), onMissed: () => this.#missed() })
    this.#state = 'member'
    await this.#renew()
    this.#roles.attempt()
  }

  async heartbeat(): Promise<void> {
    const { log } = this.#options
    try {
      await this.#renew()
      if (this.#down) log.info({}, 'the lease of this process is renewed again')
      this.#down = false
    } catch (error) {
      if (!this.#down) log.warn({ err: error }, `the lease of this process was not renewed; it is tried again: ${messageOf(error)}`)
      this.#down = true
    }
  }

  async sweep(): Promise<void> {
    await this.#ask(this.#options.store.sweep())
  }

  async close(): Promise<void> {
    const { log, node, store } = this.#options
    const member = this.#state === 'member'
    this.#state = 'left'
    clearTimeout(this.#expiry)
    clearTimeout(this.#lossWatch)
    this.#roles.lose()
    try {
      if (member) {
        const left = this.#inTurn(() => this.#roles.close().then(() => store.leave(node.id)))
        await withDeadline(left, leaveMs, 'no answer')
      }
    } catch (error) {
      // Others learn it from the lease.
      log.debug({ err: error }, 'other nodes were not told that this one leaves')
    }
    await store.close()
  }

  /** Takes or renews the lease, and reads the nodes when they changed. */
  #renew(changed = false): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#state !== 'member') return
      const { clock, leaseMs, store } = this.#options
      // Before the request: the lease cannot have begun earlier in the store.
      const asked = clock.monotonic()
      const renewal = await this.#ask(store.renew(this.node, leaseMs, changed))
      if (renewal.joined && this.#renewedAt > Number.NEGATIVE_INFINITY) {
        // Its lease had ended, or the store lost it.
        this.#roles.lose()
        this.#missed()
      }
      this.#renewedAt = asked
      this.#watchLoss()
      const before = this.#members.nodes
      if (renewal.version !== this.#members.version) this.#members.take(await this.#ask(store.read()))
      this.#members.late(renewal.late)
      this.#tellChange(before)
      this.#awaitExpiry(renewal)
      if (renewal.joined || this.#down || this.#beats++ % beatsPerAttempt === 0) this.#roles.attempt()
    })
  }

  #receive({ kind, from, body }: Envelope): void {
    if (this.#state !== 'member') return
    if (kind === nodesChanged) {
      if (from !== this.#options.node.id) this.#readSoon()
    } else if (kind === roleVacant) this.#roles.attempt(String(body))
    else this.#messages.get(kind)?.call(body, from)
  }

  /** One read for all changes that come in the same turn. */
  #readSoon(): void {
    if (this.#reading) return
    this.#reading = true
    setImmediate(() => {
      this.#reading = false
      this.#read().catch((error: unknown) => {
        this.#options.log.debug({ err: error }, 'the nodes of the app were not read; the next heartbeat reads them')
      })
    })
  }

  async #read(): Promise<void> {
    if (this.#state !== 'member') return
    const list = await this.#ask(this.#options.store.read())
    if (this.#state !== 'member' || list.version < this.#members.version) return
    const before = this.#members.nodes
    this.#members.take(list)
    this.#tellChange(before)
  }

  #tellChange(before: readonly ClusterNode[]): void {
    const change = this.#members.since(before)
    if (change === undefined) return
    if (change.left.length > 0) this.#roles.attempt()
    this.#onNodes.call(change)
  }

  #missed(): void {
    this.#onMissed.call()
  }

  #holdsLease(): boolean {
    const { clock, leaseMs } = this.#options
    return this.#state === 'member' && clock.monotonic() - this.#renewedAt < (leaseMs * 2) / 3
  }

  /** Roles are lost in time when the store does not take the next heartbeats. */
  #watchLoss(): void {
    clearTimeout(this.#lossWatch)
    this.#lossWatch = setTimeout(
      () => {
        if (!this.#holdsLease()) this.#roles.lose()
      },
      (this.#options.leaseMs * 2) / 3 + graceMs,
    )
    this.#lossWatch.unref()
  }

  /** Looks again when the lease of another node is about to end before the next heartbeat. */
  #awaitExpiry({ late }: Renewal): void {
    clearTimeout(this.#expiry)
    const { leaseMs } = this.#options
    const left = late.map((one) => one.leaseMs).filter((ms) => ms > 0 && ms < leaseMs / 3)
    if (left.length === 0) return
    this.#expiry = setTimeout(() => void this.heartbeat(), Math.min(...left) + graceMs)
    this.#expiry.unref()
  }

  async #ask<T>(answer: Promise<T>): Promise<T> {
    const { store } = this.#options
    try {
      return await withDeadline(answer, answerMs, `no answer within ${answerMs} ms`)
    } catch (error) {
      const late = error instanceof ZinError && error.code === 'ZIN_DEADLINE'
      throw late ? clusterErrors.CLUSTER_UNAVAILABLE(store.kind === 'redis' ? 'Redis' : 'the database', messageOf(error)) : error
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work)
    this.#tail = done.catch(() => undefined)
    return done
  }
}
