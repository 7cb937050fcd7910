import type { WorkerHealthCheck } from '../health/check.js'
import type { WorkerProcessor } from '../processors/processor.js'
import type { ProcessorRegistry } from '../processors/registry.js'
import type { StoredWorker } from '../store/contract.js'

interface Code {
  readonly processor?: WorkerProcessor | string
  readonly healthCheck?: WorkerHealthCheck | string
}

interface Kept {
  /** Of the worker. */
  readonly id: string
  readonly withdraw: (() => void)[]
}

/**
 * Functions that were passed with workers and versions: registered on this node, and unregistered when their worker is removed, on whichever
 * node. Code that was registered under a name, by the configuration or a plugin, is not affected.
 */
export class GivenCode {
  readonly #registry: ProcessorRegistry
  /** By the worker's name. */
  readonly #kept = new Map<string, Kept>()
  /** Ids of workers that this node is creating. */
  readonly #awaited = new Set<string>()

  constructor(registry: ProcessorRegistry) {
    this.#registry = registry
  }

  /** Replaces the functions of an earlier worker with this name. @param key the worker's name, or `name@version`. */
  keep({ id, record: { name } }: StoredWorker, key: string, { processor, healthCheck }: Code): void {
    const earlier = this.#kept.get(name)
    if (earlier !== undefined && earlier.id !== id) this.forget(name, earlier.id)
    const withdraw: (() => void)[] = []
    if (typeof processor === 'function') withdraw.push(this.#registry.give(key, processor))
    if (typeof healthCheck === 'function') withdraw.push(this.#registry.giveHealthCheck(key, healthCheck))
    if (withdraw.length === 0) return
    const kept = this.#kept.get(name)
    if (kept === undefined) this.#kept.set(name, { id, withdraw })
    else kept.withdraw.push(...withdraw)
  }

  /** Marks a worker as awaited while it is created, because this node may read it before its functions are kept. */
  async during<T>(id: string, create: () => Promise<T>): Promise<T> {
    this.#awaited.add(id)
    try {
      return await create()
    } finally {
      this.#awaited.delete(id)
    }
  }

  /** Whether this node is creating the worker: it must not start here yet. */
  awaits(id: string): boolean {
    return this.#awaited.has(id)
  }

  /** The id of the worker with this name whose functions are registered here. */
  ownerOf(name: string): string | undefined {
    return this.#kept.get(name)?.id
  }

  /** Names and ids of the workers whose functions are registered here. */
  owners(): readonly (readonly [name: string, id: string])[] {
    return [...this.#kept].map(([name, { id }]) => [name, id])
  }

  /** Does not affect a later worker with the same name. */
  forget(name: string, id: string): void {
    const kept = this.#kept.get(name)
    if (kept?.id !== id) return
    this.#kept.delete(name)
    for (const withdraw of kept.withdraw) withdraw()
  }
}
