import { type Logger, withDeadline } from 'zin'
import type { Cluster, KnownNode, NodeInfo } from '../cluster/cluster.js'

export interface MembershipParts {
  readonly info: NodeInfo
  readonly cluster: Cluster
  readonly log: Logger
  /** How long this process counts as alive after it renewed its lease, in ms. */
  readonly leaseMs: number
  /** Processes that take workers came or went. */
  readonly changed: () => void
  /** The lease of another process is over: it is time to look again. */
  readonly expired: () => void
}

/** How long others may take to be told that this process leaves, in ms. */
const farewellMs = 1_000
/** Leases are looked at so long after their end, in ms. */
const graceMs = 20

/** This process among the others of the app: it holds a lease, knows who else does, and says so when it leaves. */
export class Membership {
  readonly #parts: MembershipParts
  #nodes: readonly KnownNode[] = []
  #state: 'member' | 'leaving' | 'left' = 'member'
  /** The end of the last word to the others; a late one never undoes a later one. */
  #tail: Promise<unknown> = Promise.resolve()
  #expiry: NodeJS.Timeout | undefined

  constructor(parts: MembershipParts) {
    this.#parts = parts
  }

  /** All processes, as of the last renewal. */
  get nodes(): readonly KnownNode[] {
    return this.#nodes
  }

  async join(): Promise<void> {
    const { cluster, info } = this.#parts
    await this.renew()
    await cluster.send({ kind: 'node', node: info.id, joined: true })
  }

  /** Takes or renews the lease; answers the newest revision of the workers, or undefined once this process left. */
  renew(): Promise<number | undefined> {
    return this.#inTurn(async () => {
      const { changed, cluster, info, leaseMs } = this.#parts
      if (this.#state === 'left') return undefined
      if (this.#state === 'leaving') return (await cluster.beat({ ...info, consumes: false }, leaseMs)).revision
      const { nodes, revision } = await cluster.beat(info, leaseMs)
      const before = livingOf(this.#nodes)
      this.#nodes = nodes
      this.#awaitExpiry()
      if (before !== '' && livingOf(nodes) !== before) changed()
      return revision
    })
  }

  /** Lets others take its share, while its own jobs end. */
  async retire(): Promise<void> {
    const { cluster, info } = this.#parts
    this.#state = 'leaving'
    clearTimeout(this.#expiry)
    await this.#farewell(async () => {
      await this.renew()
      await cluster.send({ kind: 'node', node: info.id, joined: false })
    })
  }

  /** Gives the lease up; it is not taken again. */
  async leave(): Promise<void> {
    const { cluster, info } = this.#parts
    this.#state = 'left'
    await this.#farewell(() => this.#inTurn(() => cluster.leave(info.id)))
  }

  /** Others that are not told in time learn it from the lease. */
  async #farewell(say: () => Promise<unknown>): Promise<void> {
    try {
      await withDeadline(say(), farewellMs, 'no answer')
    } catch (error) {
      this.#parts.log.debug({ err: error }, 'other processes were not told that this one leaves')
    }
  }

  #awaitExpiry(): void {
    clearTimeout(this.#expiry)
    if (this.#state !== 'member') return
    const leases = this.#nodes.filter((node) => node.alive && node.id !== this.#parts.info.id).map((node) => node.leaseMs)
    if (leases.length === 0) return
    this.#expiry = setTimeout(this.#parts.expired, Math.min(...leases) + graceMs)
    this.#expiry.unref()
  }

  #inTurn<T>(say: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(say)
    this.#tail = done.catch(() => undefined)
    return done
  }
}

/** The living processes that take workers, in a form that is equal when they are. */
function livingOf(nodes: readonly KnownNode[]): string {
  return nodes
    .filter((node) => node.alive && node.consumes)
    .map((node) => node.id)
    .sort()
    .join()
}
