import type { WorkerHealthCheck } from '../health/check.js'
import type { WorkerProcessor } from '../processors/processor.js'
import type { ProcessorRegistry } from '../processors/registry.js'

interface Code {
  readonly processor?: WorkerProcessor | string
  readonly healthCheck?: WorkerHealthCheck | string
}

/** Functions that came with workers and versions: registered here, and withdrawn with their worker. */
export class GivenCode {
  readonly #registry: ProcessorRegistry
  /** By the worker's name. */
  readonly #withdraw = new Map<string, (() => void)[]>()

  constructor(registry: ProcessorRegistry) {
    this.#registry = registry
  }

  /** @param key the worker's name, or `name@version`. */
  keep(worker: string, key: string, { processor, healthCheck }: Code): void {
    const kept = this.#withdraw.get(worker) ?? []
    if (typeof processor === 'function') kept.push(this.#registry.register(key, processor))
    if (typeof healthCheck === 'function') kept.push(this.#registry.registerHealthCheck(key, healthCheck))
    if (kept.length > 0) this.#withdraw.set(worker, kept)
  }

  forget(worker: string): void {
    for (const withdraw of this.#withdraw.get(worker) ?? []) withdraw()
    this.#withdraw.delete(worker)
  }
}
