import type { WorkerHealthCheck } from '../health/check.js'
import type { ProcessorResolver, WorkerProcessor } from './processor.js'

/** What code gave under the names of workers. `name` is a worker's, or `<worker>@<version>` for one version of it. */
export class ProcessorRegistry {
  readonly #functions = new Map<string, WorkerProcessor>()
  readonly #paths = new Map<string, string>()
  readonly #prebuilt = new Map<string, WorkerProcessor>()
  readonly #healthChecks = new Map<string, WorkerHealthCheck>()
  readonly #resolvers = new Set<ProcessorResolver>()

  register(name: string, processor: WorkerProcessor): () => void {
    return put(this.#functions, name, processor)
  }

  /** `path` may be a URL as well. */
  registerPath(name: string, path: string): () => void {
    return put(this.#paths, name, path)
  }

  registerResolver(resolver: ProcessorResolver): () => void {
    this.#resolvers.add(resolver)
    return () => void this.#resolvers.delete(resolver)
  }

  /** The code behind a URL, for records whose processor is exactly this text. */
  registerPrebuilt(url: string, processor: WorkerProcessor): () => void {
    return put(this.#prebuilt, url, processor)
  }

  registerHealthCheck(name: string, check: WorkerHealthCheck): () => void {
    return put(this.#healthChecks, name, check)
  }

  /**
   * For a version with no path of its own: what is registered for it, else for its worker (a function before a path), else what the
   * resolvers say in turn.
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
