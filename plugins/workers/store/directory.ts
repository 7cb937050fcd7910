import { workerErrors } from '../errors.js'
import type { WorkerRecord } from '../record/record.js'
import { byName, type StoredWorker, type WorkerStore } from './store.js'

export interface Located {
  readonly store: WorkerStore
  readonly worker: StoredWorker
}

/** The stores of one app. A worker's name is unique over all of them. */
export class StoreDirectory {
  readonly #stores: readonly WorkerStore[]
  /** Where a name was seen last, so that it is found in one round trip. */
  readonly #seen = new Map<string, WorkerStore>()

  constructor(stores: readonly WorkerStore[]) {
    this.#stores = stores
  }

  get shared(): boolean {
    return this.#stores.some((store) => store.shared)
  }

  /** The store that a record names. No record opens a place that the app did not configure. */
  storeOf(record: WorkerRecord): WorkerStore {
    const { driver, ...place } = record.infrastructure.persistence
    const store = this.#stores.find((candidate) => candidate.driver === driver)
    if (store === undefined)
      throw workerErrors.INVALID_PERSISTENCE_CONFIG(`the driver ${driver} needs the plugin ${driver === 'db' ? 'database' : 'kv'}`)
    for (const [key, value] of Object.entries(place)) {
      const configured = store.place[key as keyof typeof store.place]
      if (value !== undefined && value !== configured) {
        throw workerErrors.INVALID_PERSISTENCE_CONFIG(
          `"${key}" must be what the app is configured with${configured === undefined ? `; ${driver} has none` : `: ${configured}`}`,
        )
      }
    }
    return store
  }

  async find(name: string): Promise<Located | undefined> {
    const last = this.#seen.get(name)
    for (const store of last === undefined ? this.#stores : [last, ...this.#stores.filter((other) => other !== last)]) {
      const worker = await store.get(name)
      if (worker === undefined) continue
      this.#seen.set(name, store)
      return { store, worker }
    }
    this.#seen.delete(name)
    return undefined
  }

  /** Every worker, by name. */
  async all(): Promise<readonly StoredWorker[]> {
    const lists = await Promise.all(this.#stores.map((store) => store.all()))
    return lists.flat().sort(byName)
  }
}
