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
