import type { WorkerHealthCheck } from '../health/check.js'
import type { ProcessorResolver, WorkerProcessor } from './processor.js'

/** Processors and health checks registered in code. `name` is the name of a worker, or `<worker>@<version>` for one version. */
export class ProcessorRegistry {
  readonly #functions = new Map<string, WorkerProcessor>()
  readonly #paths = new Map<string, string>()
  readonly #prebuilt = new Map<string, WorkerProcessor>()
  readonly #healthChecks = new Map<string, WorkerHealthCheck>()
  readonly #resolvers = new Set<ProcessorResolver>()

  register(name: string, processor: WorkerProcessor): () => void {
    return put(this.#functions, name, processor)
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
    return put(this.#healthChecks, name, check)
  }

  /**
   * Returns the processor of a version without a path: the one registered for the version, else for the worker (a function takes
   * precedence over a path), else the first one that a resolver returns.
   */
  async find(worker: string, version: string): Promise<WorkerProcessor | string | undefined> {
    for (const name of [`${worker}@${version}`, worker]) {
      const known = this.#functions.get(name) ?? this.#paths.get(name)
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
    return this.#healthChecks.get(`${worker}@${version}`) ?? this.#healthChecks.get(worker)
  }
}

/** Sets an entry; the returned function removes it unless it was replaced. */
function put<T>(map: Map<string, T>, name: string, value: T): () => void {
  map.set(name, value)
  return () => {
    if (map.get(name) === value) map.delete(name)
  }
}
