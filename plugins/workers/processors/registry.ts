import type { WorkerHealthCheck } from '../health/check.js'
import type { ProcessorResolver, WorkerProcessor } from './processor.js'

interface Code {
  readonly functions: Map<string, WorkerProcessor>
  readonly healthChecks: Map<string, WorkerHealthCheck>
}

/** Processors and health checks registered in code. `name` is the name of a worker, or `<worker>@<version>` for one version. */
export class ProcessorRegistry {
  readonly #given: Code = { functions: new Map(), healthChecks: new Map() }
  readonly #registered: Code = { functions: new Map(), healthChecks: new Map() }
  readonly #paths = new Map<string, string>()
  readonly #prebuilt = new Map<string, WorkerProcessor>()
  readonly #resolvers = new Set<ProcessorResolver>()

  register(name: string, processor: WorkerProcessor): () => void {
    return put(this.#registered.functions, name, processor)
  }

  /** Sets the function of a worker that is created or updated with it. It hides a registered one until it is removed. */
  give(name: string, processor: WorkerProcessor): () => void {
    return put(this.#given.functions, name, processor)
  }

  /** As `give`, for a health check. */
  giveHealthCheck(name: string, check: WorkerHealthCheck): () => void {
    return put(this.#given.healthChecks, name, check)
  }

  /** `path` may also be a URL. */
  registerPath(name: string, path: string): () => void {
    return put(this.#paths, name, path)
  }

  registerResolver(resolver: ProcessorResolver): () => void {
    this.#resolvers.add(resolver)
    return () => void this.#resolvers.delete(resolver)
  }

  /** Registers the code of a URL or path, for records whose processor is exactly this text. */
  registerPrebuilt(url: string, processor: WorkerProcessor): () => void {
    return put(this.#prebuilt, url, processor)
  }

  registerHealthCheck(name: string, check: WorkerHealthCheck): () => void {
    return put(this.#registered.healthChecks, name, check)
  }

  /**
   * Returns the processor of a version without a path: the one given or registered for the version, else for the worker (a function takes
   * precedence over a path), else the first one that a resolver returns.
   */
  async find(worker: string, version: string): Promise<WorkerProcessor | string | undefined> {
    for (const name of [`${worker}@${version}`, worker]) {
      const known = this.#given.functions.get(name) ?? this.#registered.functions.get(name) ?? this.#paths.get(name)
      if (known !== undefined) return known
    }
    for (const resolver of this.#resolvers) {
      const found = await resolver(worker)
      if (found !== undefined) return found
    }
    return undefined
  }

  prebuilt(url: string): WorkerProcessor | undefined {
    return this.#prebuilt.get(url)
  }

  healthCheck(worker: string, version: string): WorkerHealthCheck | undefined {
    for (const name of [`${worker}@${version}`, worker]) {
      const known = this.#given.healthChecks.get(name) ?? this.#registered.healthChecks.get(name)
      if (known !== undefined) return known
    }
    return undefined
  }
}

/** Sets an entry; the returned function removes it unless it was replaced. */
function put<T>(map: Map<string, T>, name: string, value: T): () => void {
  map.set(name, value)
  return () => {
    if (map.get(name) === value) map.delete(name)
  }
}
