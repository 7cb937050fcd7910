import { type Clock, type Logger, messageOf, withDeadline, ZinError } from 'zin'
import type { Cluster, ClusterNode, LeasedNode, MessageKind, NodeInfo, NodeLabels, NodesChange, RoleListener } from './contract.js'
import { clusterErrors } from './errors.js'
import { Listeners } from './listeners.js'
import { Members } from './members.js'
import { Roles } from './roles.js'
import { type ClusterStore, type Envelope, nodesChanged, type Renewal, roleReleased } from './store/contract.js'

export interface ClusterOptions {
  readonly store: ClusterStore
  readonly node: Omit<NodeInfo, 'labels'>
  readonly clock: Clock
  readonly log: Logger
  /** Duration of a lease, in ms: how long a node counts as alive after a renewal. */
  readonly leaseMs: number
  /** Remaining time of the shutdown of the app, in ms. Default: no limit. */
  readonly shutdownLeftMs?: () => number
}

/** A cluster with the methods for its owner, who opens it, calls `heartbeat` three times per lease, and closes it. */
export interface OwnedCluster extends Cluster {
  /** Subscribes to messages and acquires a lease. */
  open(): Promise<void>
  /** Renews the lease. Never rejects. */
  heartbeat(): Promise<void>
  /** Deletes expired data; for the leader. */
  sweep(): Promise<void>
  /** Releases the lease and all roles. */
  close(): Promise<void>
}

/** Deadline of a store call, and of notifying the other nodes when this node leaves, in ms. */
const responseMs = 5_000
const leaveMs = 1_000

/** How long after its end a lease is checked, in ms. */
const graceMs = 20

/** Heartbeats between attempts to acquire roles whose release was not published. */
const heartbeatsPerAttempt = 12

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
  /** The labels in the store; undefined before the first renewal. */
  #storedLabels: NodeLabels | undefined
  #state: 'new' | 'member' | 'left' = 'new'
  /** When the last successful renewal was requested, by the monotonic clock. */
  #renewedAt = Number.NEGATIVE_INFINITY
  /** The last write of the lease. Writes run one after another, so a slow one never overwrites a later one. */
  #tail: Promise<unknown> = Promise.resolve()
  /** Whether a read of the nodes is scheduled. */
  #reading = false
  #expiry: NodeJS.Timeout | undefined
  #lossWatch: NodeJS.Timeout | undefined
  #down = false
  #heartbeats = 0

  constructor(options: ClusterOptions) {
    const { log, node, store } = options
    this.#options = options
    this.#onNodes = new Listeners(log)
    this.#onMissed = new Listeners(log)
    const { acquire, release } = {
      acquire: (role: string, id: string) => this.#ask(store.acquire(role, id)),
      release: (role: string, id: string, forget?: boolean) => this.#ask(store.release(role, id, forget)),
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
      throw clusterErrors.CLUSTER_MISCONFIGURED(
        `the labels of a node may have at most ${longestLabels} characters of JSON, but these have ${length}`,
      )
    }
    this.#labels = all
    if (this.#state === 'member') await this.#renew()
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
      if (this.#down) log.info({}, 'the lease of this node is renewed again')
      this.#down = false
    } catch (error) {
      if (!this.#down) log.warn({ err: error }, `the lease of this node could not be renewed; retrying: ${messageOf(error)}`)
      this.#down = true
    }
  }

  async sweep(): Promise<void> {
    await this.#ask(this.#options.store.sweep())
  }

  async close(): Promise<void> {
    const { log, node, shutdownLeftMs = () => Number.POSITIVE_INFINITY, store } = this.#options
    const member = this.#state === 'member'
    this.#state = 'left'
    clearTimeout(this.#expiry)
    clearTimeout(this.#lossWatch)
    this.#roles.lose()
    try {
      if (member) {
        const left = this.#inTurn(() => this.#roles.close().then(() => store.leave(node.id)))
        await withDeadline(left, Math.min(leaveMs, shutdownLeftMs() / 2), 'no response')
      }
    } catch (error) {
      // The other nodes notice when the lease expires.
      log.debug({ err: error }, 'other nodes were not notified that this node leaves')
    }
    await store.close()
  }

  /** Acquires or renews the lease with the current labels, and reads the nodes when they changed. */
  #renew(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#state !== 'member') return
      const { clock, leaseMs, store } = this.#options
      // Taken before the request, because the lease in the store cannot start earlier.
      const asked = clock.monotonic()
      const labels = this.#labels
      const renewal = await this.#ask(store.renew(this.node, leaseMs, labels !== this.#storedLabels))
      this.#storedLabels = labels
      // Closed in the meantime: nothing may start again.
      if (this.#state !== 'member') return
      if (renewal.joined && this.#renewedAt > Number.NEGATIVE_INFINITY) {
        // The lease had expired, or the store lost it.
        this.#roles.lose()
        this.#missed()
      }
      this.#renewedAt = asked
      this.#watchLoss()
      const before = this.#members.nodes
      if (renewal.version !== this.#members.version) this.#members.take(await this.#ask(store.read()))
      this.#members.late(renewal.late)
      this.#publishChange(before)
      this.#awaitExpiry(renewal)
      if (renewal.joined || this.#down || this.#heartbeats++ % heartbeatsPerAttempt === 0) this.#roles.attempt()
    })
  }

  #receive({ kind, from, body }: Envelope): void {
    if (this.#state !== 'member') return
    if (kind === nodesChanged) {
      if (from !== this.#options.node.id) this.#readSoon()
    } else if (kind === roleReleased) this.#roles.attempt(String(body))
    else this.#messages.get(kind)?.call(body, from)
  }

  /** One read for all changes that arrive in the same turn of the event loop. */
  #readSoon(): void {
    if (this.#reading) return
    this.#reading = true
    setImmediate(() => {
      this.#reading = false
      this.#read().catch((error: unknown) => {
        this.#options.log.debug({ err: error }, 'the list of nodes could not be read; the next heartbeat retries')
      })
    })
  }

  async #read(): Promise<void> {
    if (this.#state !== 'member') return
    const list = await this.#ask(this.#options.store.read())
    if (this.#state !== 'member' || list.version < this.#members.version) return
    const before = this.#members.nodes
    this.#members.take(list)
    this.#publishChange(before)
  }

  #publishChange(before: readonly ClusterNode[]): void {
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

  /** Ends the roles in time when the next heartbeats fail. */
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

  /** Checks again when the lease of another node is about to expire before the next heartbeat. */
  #awaitExpiry({ late }: Renewal): void {
    clearTimeout(this.#expiry)
    // The nodes may have been read while it closed.
    if (this.#state !== 'member') return
    const { leaseMs } = this.#options
    const left = late.map((one) => one.leaseMs).filter((ms) => ms > 0 && ms < leaseMs / 3)
    if (left.length === 0) return
    this.#expiry = setTimeout(() => void this.heartbeat(), Math.min(...left) + graceMs)
    this.#expiry.unref()
  }

  async #ask<T>(response: Promise<T>): Promise<T> {
    const { store } = this.#options
    try {
      return await withDeadline(response, responseMs, `no response within ${responseMs} ms`)
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
