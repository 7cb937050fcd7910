import { stricter } from '../record/limits.js'
import type { RateLimit, WorkerRecord } from '../record/record.js'
import type { StoredWorker } from '../store/contract.js'

/** The stored workers as this node last read them. */
export class KnownWorkers {
  readonly #workers = new Map<string, StoredWorker>()
  /** By queue; undefined until they are asked for again. */
  #limits: ReadonlyMap<string, RateLimit> | undefined

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
    if (known?.record.rateLimit ?? worker.record.rateLimit) this.#limits = undefined
    return true
  }

  /** The strictest rate limit of the workers of a queue, which holds for all of them; undefined if none has one. */
  limitOf(queue: string): RateLimit | undefined {
    this.#limits ??= limitsOf(this.all().map(({ record }) => record))
    return this.#limits.get(queue)
  }

  /** Removes a worker; false if a later one with the same name is known. */
  remove({ id, record: { name } }: StoredWorker): boolean {
    const known = this.#workers.get(name)
    if (known?.id !== id) return false
    if (known.record.rateLimit) this.#limits = undefined
    return this.#workers.delete(name)
  }
}

function limitsOf(records: readonly WorkerRecord[]): ReadonlyMap<string, RateLimit> {
  const found = new Map<string, RateLimit>()
  for (const { activeStatus, queueName, rateLimit } of records) {
    const limit = activeStatus ? stricter(rateLimit, found.get(queueName)) : undefined
    if (limit !== undefined) found.set(queueName, limit)
  }
  return found
}
