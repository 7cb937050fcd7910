import type { ProcessorResolver, WorkerProcessor } from '../types.js'

/** Processors that code gave under the names of workers. */
export class ProcessorRegistry {
  readonly #functions = new Map<string, WorkerProcessor>()
  readonly #paths = new Map<string, string>()
  readonly #resolvers = new Set<ProcessorResolver>()

  register(name: string, processor: WorkerProcessor): () => void {
    return put(this.#functions, name, processor)
  }

  registerPath(name: string, path: string): () => void {
    return put(this.#paths, name, path)
  }

  registerResolver(resolver: ProcessorResolver): () => void {
    this.#resolvers.add(resolver)
    return () => void this.#resolvers.delete(resolver)
  }

  /** A function, else a path, else what the resolvers say in turn. */
  async find(name: string): Promise<WorkerProcessor | string | undefined> {
    const known = this.#functions.get(name) ?? this.#paths.get(name)
    if (known !== undefined) return known
    for (const resolver of this.#resolvers) {
      const found = await resolver(name)
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** Sets an entry; the returned function removes it unless somebody replaced it. */
function put<T>(map: Map<string, T>, name: string, value: T): () => void {
  map.set(name, value)
  return () => {
    if (map.get(name) === value) map.delete(name)
  }
}
