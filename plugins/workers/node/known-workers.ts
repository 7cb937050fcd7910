import type { StoredWorker } from '../store/contract.js'

/** The stored workers as this node last read them. */
export class KnownWorkers {
  readonly #workers = new Map<string, StoredWorker>()

  get names(): readonly string[] {
    return [...this.#workers.keys()]
  }

  all(): readonly StoredWorker[] {
    return [...this.#workers.values()]
  }

  get(name: string): StoredWorker | undefined {
    return this.#workers.get(name)
  }

  /** Keeps the newer one of the known worker and the given one. Returns whether that is the given one. */
  take(worker: StoredWorker): boolean {
    const { name } = worker.record
    const known = this.#workers.get(name)
    if (known?.id === worker.id && known.generation >= worker.generation) return false
    this.#workers.set(name, worker)
    return true
  }

  /** Removes a worker; false if a later one with the same name is known. */
  remove({ id, record: { name } }: StoredWorker): boolean {
    return this.#workers.get(name)?.id === id && this.#workers.delete(name)
  }
}
