import { type Clock, type Logger, messageOf } from 'zin'
import type { Leadership } from '../types.js'
import type { Cluster } from './cluster.js'

export interface CandidateOptions {
  readonly role: string
  /** Id of this process. */
  readonly node: string
  readonly clock: Clock
  readonly log: Logger
  /** How long a role is held without renewal. Default 15000. */
  readonly leaseMs?: number
}

/** Runs for a leader role from `start` on: tries, or renews, every third of the lease. */
export interface Candidate extends Leadership {
  /** Begins, or begins again. */
  start(): void
  /** Ends it without giving the role up: the lease runs out. */
  stop(): Promise<void>
}

export function runForLead(cluster: Cluster, options: CandidateOptions): Candidate {
  return new RoleCandidate(cluster, options)
}

class RoleCandidate implements Candidate {
  readonly #cluster: Cluster
  readonly #options: CandidateOptions
  readonly #leaseMs: number
  #held: { readonly since: number } | undefined
  #epoch = 0
  #timer: NodeJS.Timeout | undefined
  #unlisten: (() => void) | undefined
  #trying: Promise<void> | undefined
  /** Something changed while it tried. */
  #again = false
  #warned = false

  constructor(cluster: Cluster, options: CandidateOptions) {
    this.#cluster = cluster
    this.#options = options
    this.#leaseMs = options.leaseMs ?? 15_000
  }

  get leads(): boolean {
    return this.#held !== undefined && this.#options.clock.monotonic() - this.#held.since < (this.#leaseMs * 2) / 3
  }

  get epoch(): number {
    return this.#epoch
  }

  start(): void {
    if (this.#unlisten !== undefined) return
    this.#unlisten = this.#cluster.listen((message) => {
      if (message.kind === 'vacant' && message.role === this.#options.role && !this.leads) this.#attempt()
    })
    this.#attempt()
  }

  async stop(): Promise<void> {
    this.#unlisten?.()
    this.#unlisten = undefined
    this.#held = undefined
    clearTimeout(this.#timer)
    // What was asked for may still be granted, so it is waited for; the store bounds it in time.
    await this.#trying
  }

  async resign(): Promise<void> {
    await this.stop()
    const { role, node, log } = this.#options
    try {
      await this.#cluster.resign(role, node)
    } catch (error) {
      log.warn({ role, reason: messageOf(error) }, `the leader role "${role}" was not given up; it ends with its lease`)
    }
  }

  /** Tries now, once at a time, and plans the next try. */
  #attempt(): void {
    this.#again = this.#trying !== undefined
    if (this.#again) return
    clearTimeout(this.#timer)
    this.#trying = this.#try().finally(() => {
      this.#trying = undefined
      if (this.#unlisten === undefined) return
      const delay = this.#again ? 0 : (this.#leaseMs / 3) * (0.9 + 0.2 * Math.random())
      this.#timer = setTimeout(() => this.#attempt(), delay)
    })
  }

  async #try(): Promise<void> {
    const { role, node, clock, log } = this.#options
    // Before the request: the lease cannot have begun earlier in the store.
    const since = clock.monotonic()
    try {
      const epoch = await this.#cluster.lead(role, node, this.#leaseMs)
      this.#held = epoch === undefined || this.#unlisten === undefined ? undefined : { since }
      this.#epoch = epoch ?? this.#epoch
      if (this.#warned) log.info({ role }, `the leader role "${role}" can be run for again`)
      this.#warned = false
    } catch (error) {
      if (!this.#warned) log.warn({ role, reason: messageOf(error) }, `the leader role "${role}" could not be run for or renewed`)
      this.#warned = true
    }
  }
}
