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

interface Opened extends Omit<Leak, 'stack'> {
  /** Its stack is formatted only when read, because that is slow with source maps. */
  readonly where: Error
  readonly resource: WeakRef<object>
}

/** Traces the resources that plugin code opens, across everything it awaits. */
export class LeakTracer {
  readonly #owner = new AsyncLocalStorage<string>()
  readonly #open = new Map<number, Opened>()
  readonly #hook = createHook({
    init: (id, type, _trigger, resource) => {
      if (!tracedTypes.has(type)) return
      const plugin = this.#owner.getStore()
      if (plugin === undefined) return
      this.#open.set(id, { plugin, type, where: new Error(type), resource: new WeakRef(resource) })
    },
    destroy: (id) => void this.#open.delete(id),
  })

  constructor() {
    this.#hook.enable()
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
      const open = [...this.#open.values()].filter(
        (leak) => (plugin === undefined || leak.plugin === plugin) && isAlive(leak.type, leak.resource.deref()),
      )
      if (open.length === 0 || Date.now() > deadline)
        return open.map(({ plugin, type, where }) => ({ plugin, type, stack: where.stack ?? '' }))
      await this.#owner.exit(() => new Promise((resolve) => setTimeout(resolve, 20)))
    }
  }

  close(): void {
    this.#hook.disable()
    this.#open.clear()
  }
}

interface HandleLike {
  readonly _destroyed?: boolean
  readonly _idleTimeout?: number
  readonly fd?: number
}

/** A fired or cleared timer and a handle without a descriptor are closed, even if Node has not reported it yet. */
function isAlive(type: string, resource: object | undefined): boolean {
  const handle = resource as HandleLike | undefined
  if (handle === undefined) return false
  if (type === 'Timeout') return handle._destroyed !== true && (handle._idleTimeout ?? -1) >= 0
  return handle.fd === undefined || handle.fd >= 0
}

export function describeLeaks(leaks: readonly Leak[]): string {
  return leaks
    .map((leak) => `${leak.plugin} left a ${leak.type} open, created here:\n${leak.stack.split('\n').slice(2, 12).join('\n')}`)
    .join('\n')
}
