import type { Clock } from 'zin'
import type { LeasedNode, NodeInfo } from '../contract.js'
import {
  type ClusterStore,
  type Envelope,
  lostNodeMs,
  type NodeList,
  nodesChanged,
  type Renewal,
  roleReleased,
  type StoreListener,
} from './contract.js'

interface Lease {
  readonly info: NodeInfo
  /** By the monotonic clock, so that a node does not lose its lease when the wall clock changes. */
  readonly until: number
}

/** Shared state of in-process nodes: stores created with the same hub form one cluster. */
export class MemoryHub {
  readonly leases = new Map<string, Lease>()
  readonly roles = new Map<string, { readonly node: string | undefined; readonly epoch: number }>()
  readonly listeners = new Set<StoreListener>()
  version = 0

  publish(message: Envelope): void {
    queueMicrotask(() => {
      for (const listener of [...this.listeners]) if (this.listeners.has(listener)) listener.onMessage(message)
    })
  }
}

/** A store for nodes within one process; nothing is persisted. */
export function memoryStore({ clock, hub = new MemoryHub() }: { readonly clock: Clock; readonly hub?: MemoryHub }): ClusterStore {
  return new MemoryStore(clock, hub)
}

class MemoryStore implements ClusterStore {
  readonly kind = 'memory'
  readonly #clock: Clock
  readonly #hub: MemoryHub
  #listener: StoreListener | undefined

  constructor(clock: Clock, hub: MemoryHub) {
    this.#clock = clock
    this.#hub = hub
  }

  async open(listener: StoreListener): Promise<void> {
    this.#listener = listener
    this.#hub.listeners.add(listener)
  }

  async close(): Promise<void> {
    if (this.#listener !== undefined) this.#hub.listeners.delete(this.#listener)
  }

  async renew(info: NodeInfo, leaseMs: number, changed: boolean): Promise<Renewal> {
    const now = this.#clock.monotonic()
    const { leases } = this.#hub
    const joined = !this.#alive(info.id)
    leases.set(info.id, { info, until: now + leaseMs })
    if (joined || changed) this.#changed(info.id)
    const late = [...leases].map(([id, { until }]) => ({ id, leaseMs: until - now })).filter((one) => one.leaseMs < (leaseMs * 2) / 3)
    return { joined, version: this.#hub.version, late }
  }

  async leave(node: string): Promise<void> {
    if (this.#hub.leases.delete(node)) this.#changed(node)
  }

  async read(): Promise<NodeList> {
    const [now, wall] = [this.#clock.monotonic(), this.#clock.now()]
    const nodes = [...this.#hub.leases.values()].map(({ info, until }): LeasedNode => {
      const leftMs = Math.round(until - now)
      return { ...info, alive: until > now, leaseUntil: wall + leftMs, leaseMs: Math.max(0, leftMs) }
    })
    return { version: this.#hub.version, nodes }
  }

  async publish(message: Envelope): Promise<void> {
    this.#hub.publish(message)
  }

  async acquire(role: string, node: string): Promise<number | undefined> {
    const held = this.#hub.roles.get(role) ?? { node: undefined, epoch: 0 }
    if (!this.#alive(node)) return undefined
    if (held.node !== node && held.node !== undefined && this.#alive(held.node)) return undefined
    const epoch = held.node === node ? held.epoch : held.epoch + 1
    this.#hub.roles.set(role, { node, epoch })
    return epoch
  }

  async epoch(role: string): Promise<number> {
    return this.#hub.roles.get(role)?.epoch ?? 0
  }

  async release(role: string, node: string, forget = false): Promise<void> {
    const held = this.#hub.roles.get(role)
    if (held?.node !== node) return
    if (forget) this.#hub.roles.delete(role)
    else this.#hub.roles.set(role, { node: undefined, epoch: held.epoch })
    this.#hub.publish({ kind: roleReleased, from: node, body: role })
  }

  async sweep(): Promise<void> {
    const before = this.#clock.monotonic() - lostNodeMs
    const lost = [...this.#hub.leases].filter(([, { until }]) => until < before)
    for (const [node] of lost) this.#hub.leases.delete(node)
    if (lost.length > 0) this.#hub.version++
  }

  isUnavailable(): boolean {
    return false
  }

  #alive(node: string): boolean {
    return (this.#hub.leases.get(node)?.until ?? Number.NEGATIVE_INFINITY) > this.#clock.monotonic()
  }

  #changed(node: string): void {
    this.#hub.version++
    this.#hub.publish({ kind: nodesChanged, from: node })
  }
}
