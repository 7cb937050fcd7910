import { type Logger, messageOf } from 'zin'
import type { Leadership, RoleListener } from './contract.js'
import type { ClusterStore } from './store/contract.js'

export interface RolesOptions {
  readonly store: Pick<ClusterStore, 'acquire' | 'release'>
  /** Id of this node. */
  readonly node: string
  /** Whether the lease of this node was renewed recently enough to act on it. */
  readonly holdsLease: () => boolean
  readonly log: Logger
}

/** The roles that this node runs for, each once. A role is held as long as the lease of its node is valid, so holding one costs nothing. */
export class Roles {
  readonly #options: RolesOptions
  readonly #roles = new Map<string, Role>()

  constructor(options: RolesOptions) {
    this.#options = options
  }

  lead(name: string, listener: RoleListener = {}): Leadership {
    const role = this.#roles.get(name) ?? new Role(name, this.#options)
    this.#roles.set(name, role)
    let resigned = false
    role.add(listener)
    const tried = role.attempt()
    return {
      tried,
      get leads() {
        return !resigned && role.leads
      },
      get epoch() {
        return role.epoch
      },
      resign: async ({ forget = false } = {}) => {
        if (resigned) return
        resigned = true
        if (role.remove(listener) > 0) return
        if (this.#roles.get(name) === role) this.#roles.delete(name)
        await role.resign(forget)
      },
    }
  }

  /** Tries to acquire the roles that this node does not hold: all of them, or the one that was released. */
  attempt(name?: string): void {
    for (const role of this.#roles.values()) if (name === undefined || role.name === name) void role.attempt()
  }

  /** The lease was not renewed in time: other nodes may have taken the roles. */
  lose(): void {
    for (const role of this.#roles.values()) role.lose()
  }

  /** Stops leading. The roles themselves are released with the lease. */
  async close(): Promise<void> {
    const roles = [...this.#roles.values()]
    this.#roles.clear()
    await Promise.all(roles.map((role) => role.close()))
  }
}

class Role {
  readonly name: string
  epoch = 0
  readonly #options: RolesOptions
  readonly #listeners = new Map<RoleListener, number>()
  #held = false
  #closed = false
  #trying: Promise<void> | undefined
  /** Whether to try again after the current attempt, because something changed meanwhile. */
  #again = false
  #warned = false

  constructor(name: string, options: RolesOptions) {
    this.name = name
    this.#options = options
  }

  get leads(): boolean {
    return this.#held && this.#options.holdsLease()
  }

  add(listener: RoleListener): void {
    this.#listeners.set(listener, (this.#listeners.get(listener) ?? 0) + 1)
    if (this.leads) this.#call(listener.onGain, this.epoch)
  }

  /** Returns the number of remaining listeners. */
  remove(listener: RoleListener): number {
    if (this.leads) this.#call(listener.onLoss)
    const times = (this.#listeners.get(listener) ?? 1) - 1
    if (times === 0) this.#listeners.delete(listener)
    else this.#listeners.set(listener, times)
    return this.#listeners.size
  }

  /** Tries to acquire the role; one attempt at a time. Never rejects. */
  attempt(): Promise<void> {
    this.#again = this.#trying !== undefined
    this.#trying ??= this.#try().finally(() => {
      this.#trying = undefined
      if (this.#again) void this.attempt()
    })
    return this.#trying
  }

  lose(): void {
    if (!this.#held) return
    this.#held = false
    for (const { onLoss } of this.#listeners.keys()) this.#call(onLoss)
  }

  async resign(forget: boolean): Promise<void> {
    await this.close()
    const { log, node, store } = this.#options
    try {
      await store.release(this.name, node, forget)
    } catch (error) {
      log.warn(
        { role: this.name, reason: messageOf(error) },
        `the role "${this.name}" was not released; it expires with the lease of this node`,
      )
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.lose()
    // A pending attempt may still succeed, so wait for it; the store bounds its time.
    await this.#trying
  }

  async #try(): Promise<void> {
    const { holdsLease, log, node, store } = this.#options
    if (this.#closed || this.#held || !holdsLease()) return
    try {
      const epoch = await store.acquire(this.name, node)
      if (this.#warned) log.info({ role: this.name }, `attempts to acquire the role "${this.name}" work again`)
      this.#warned = false
      if (epoch === undefined || this.#closed || !holdsLease()) return
      this.epoch = epoch
      this.#held = true
      for (const { onGain } of this.#listeners.keys()) this.#call(onGain, epoch)
    } catch (error) {
      if (!this.#warned) log.warn({ role: this.name, reason: messageOf(error) }, `the role "${this.name}" could not be acquired; retrying`)
      this.#warned = true
    }
  }

  #call<Args extends readonly unknown[]>(listener: ((...args: Args) => void) | undefined, ...args: Args): void {
    try {
      listener?.(...args)
    } catch (error) {
      const { log } = this.#options
      log.error({ err: error, role: this.name }, `a listener of the role "${this.name}" threw: ${messageOf(error)}`)
    }
  }
}
