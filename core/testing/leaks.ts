import { AsyncLocalStorage, createHook } from 'node:async_hooks'

/** A timer, socket, server, thread or child process that a plugin opened and that was not closed. */
export interface Leak {
  readonly plugin: string
  /** Node's resource type, e.g. `Timeout` or `TCPSERVERWRAP`. */
  readonly type: string
  /** Stack trace of where it was opened. */
  readonly stack: string
}

const tracedTypes = new Set([
  'Timeout',
  'TCPWRAP',
  'TCPSERVERWRAP',
  'PIPEWRAP',
  'PIPESERVERWRAP',
  'UDPWRAP',
  'WORKER',
  'PROCESSWRAP',
  'FSEVENTWRAP',
  'STATWATCHER',
])

/** Types whose objects do not tell whether they are closed. */
const opaqueTypes = new Set(['WORKER', 'PROCESSWRAP', 'FSEVENTWRAP', 'STATWATCHER'])

/** After so many resources, the closed ones are forgotten. */
const sweepAfter = 1_000

interface Opened extends Omit<Leak, 'stack'> {
  /** Its stack is formatted only when read, because that is slow with source maps. */
  readonly where: Error
  readonly resource: WeakRef<object>
}

/** Traces the resources that plugin code opens, across everything it awaits. */
export class LeakTracer {
  readonly #owner = new AsyncLocalStorage<string>()
  readonly #open = new Map<number, Opened>()
  readonly #opaque = new Set<number>()
  #sweepAt = sweepAfter
  readonly #opens = createHook({
    init: (id, type, _trigger, resource) => {
      if (!tracedTypes.has(type)) return
      const plugin = this.#owner.getStore()
      if (plugin === undefined) return
      // Before it is added: reading the descriptor of a handle that is not complete yet crashes the process.
      if (this.#open.size >= this.#sweepAt) this.#sweep()
      this.#open.set(id, { plugin, type, where: new Error(type), resource: new WeakRef(resource) })
      if (opaqueTypes.has(type)) this.#watch(id)
    },
  })
  /** Enabled only while it is needed: with a listener for `destroy`, Node 20 tracks every promise, and awaiting one takes three times as long. */
  readonly #closes = createHook({
    destroy: (id) => {
      if (!this.#opaque.delete(id)) return
      this.#open.delete(id)
      if (this.#opaque.size === 0) this.#closes.disable()
    },
  })

  constructor() {
    this.#opens.enable()
  }

  /** Runs plugin code and attributes the resources it opens to the plugin. */
  readonly run = <T>(plugin: string, run: () => T): T => this.#owner.run(plugin, run)

  /**
   * Returns the resources that are still open. Node reports a closed resource with a delay, so this waits until nothing is left,
   * for at most `patienceMs`.
   */
  async remaining(plugin?: string, patienceMs = 2_000): Promise<readonly Leak[]> {
    const deadline = Date.now() + patienceMs
    for (;;) {
      const open = [...this.#open].filter(
        ([id, { plugin: owner, type, resource }]) => (plugin === undefined || owner === plugin) && isAlive(id, type, resource.deref()),
      )
      if (open.length === 0 || Date.now() > deadline)
        return open.map(([, { plugin, type, where }]) => ({ plugin, type, stack: where.stack ?? '' }))
      await this.#owner.exit(() => new Promise((resolve) => setTimeout(resolve, 20)))
    }
  }

  close(): void {
    this.#opens.disable()
    this.#closes.disable()
    // Otherwise each asynchronous resource of the process would inherit its value for ever.
    this.#owner.disable()
    this.#open.clear()
  }

  #watch(id: number): void {
    this.#opaque.add(id)
    this.#closes.enable()
  }

  #sweep(): void {
    for (const [id, { type, resource }] of this.#open) if (!isAlive(id, type, resource.deref())) this.#open.delete(id)
    this.#sweepAt = this.#open.size + sweepAfter
  }
}

interface HandleLike {
  readonly _destroyed?: boolean
  readonly _idleTimeout?: number
  readonly fd?: number
  /** Of a connection that an HTTP agent kept for another request. */
  readonly handle?: HandleLike
  getAsyncId?(): number
}

/**
 * A fired or cleared timer, a handle without a descriptor, and a connection that now belongs to another request are closed, even if Node has
 * not reported it.
 */
function isAlive(id: number, type: string, resource: object | undefined): boolean {
  const handle = (resource as HandleLike | undefined)?.handle ?? (resource as HandleLike | undefined)
  if (handle === undefined) return false
  if (type === 'Timeout') return handle._destroyed !== true && (handle._idleTimeout ?? -1) >= 0
  if (handle.getAsyncId !== undefined && handle.getAsyncId() !== id) return false
  return handle.fd === undefined || handle.fd >= 0
}

export function describeLeaks(leaks: readonly Leak[]): string {
  return leaks
    .map((leak) => `${leak.plugin} left a ${leak.type} open, created here:\n${leak.stack.split('\n').slice(2, 12).join('\n')}`)
    .join('\n')
}
