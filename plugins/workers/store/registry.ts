import { workerErrors } from '../errors.js'
import type { PersistencePlace, WorkerRecord } from '../record/record.js'
import { byName, type PageQuery, type StoredWorker, type StorePage, type WorkerStore } from './contract.js'

export interface Located {
  readonly store: WorkerStore
  readonly worker: StoredWorker
}

/** Opens a store at a place, with the app's defaults for what the place does not name. Throws INVALID_PERSISTENCE_CONFIG. */
export type OpenStore = (place: PersistencePlace, client: unknown) => WorkerStore

export interface StoreRequest {
  /** A database, key-value store, document database or edge binding that code gave. */
  readonly client?: unknown
  /** Whether code of the app asks. Others get only places that are open already. */
  readonly trusted: boolean
}

interface Opened {
  readonly store: WorkerStore
  readonly client: unknown
}

/** How often a new worker looks whether another of its name withdraws, and after how long, in ms. */
const looks = 5
const lookMs = 20

/** The stores of one app. A worker's name is unique over all of them. */
export class StoreRegistry {
  #opened: readonly Opened[]
  readonly #open: OpenStore
  /** Where a name was seen last, so that it is found in one round trip. */
  readonly #seen = new Map<string, WorkerStore>()
  /** Ends when the last opening does: two of one place must not both be added. */
  #opening: Promise<unknown> = Promise.resolve()

  constructor(stores: readonly WorkerStore[], open: OpenStore) {
    this.#opened = stores.map((store) => ({ store, client: undefined }))
    this.#open = open
  }

  /** Whether other processes see some of the workers. */
  get shared(): boolean {
    return this.#stores.some((store) => store.shared)
  }

  /** Makes the stores of the app ready. */
  async prepare(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.prepare()))
  }

  /** The store that a record names. */
  async storeOf(record: WorkerRecord, { client, trusted }: StoreRequest): Promise<WorkerStore> {
    const place = record.infrastructure.persistence
    const known = this.#known(place, client)
    if (known !== undefined) return known
    if (!trusted) throw workerErrors.INVALID_PERSISTENCE_CONFIG(this.#unknownPlace(place))
    const turn = this.#opening.then(() => this.#known(place, client) ?? this.#add(place, client))
    this.#opening = turn.catch(() => undefined)
    return turn
  }

  /** The worker of a name. A store that cannot be reached fails the search only when no other one has it. */
  async find(name: string): Promise<Located | undefined> {
    const last = this.#seen.get(name)
    const worker = await last?.get(name)
    if (last !== undefined && worker !== undefined) return { store: last, worker }
    const others = this.#stores.filter((store) => store !== last)
    const answers = await Promise.allSettled(others.map((store) => store.get(name)))
    for (const [index, store] of others.entries()) {
      const answer = answers[index]
      if (answer?.status !== 'fulfilled' || answer.value === undefined) continue
      this.#seen.set(name, store)
      return { store, worker: answer.value }
    }
    const failed = answers.find((answer) => answer.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    this.#seen.delete(name)
    return undefined
  }

  /** Stores a new worker; false when its name is taken in any store. */
  async insert(store: WorkerStore, worker: StoredWorker): Promise<boolean> {
    const { name } = worker.record
    if ((await this.find(name)) !== undefined || !(await store.insert(worker))) return false
    try {
      if (await this.#isAlone(store, worker)) return true
    } catch (error) {
      await store.remove(worker)
      throw error
    }
    await store.remove(worker)
    return false
  }

  /**
   * Two stores know nothing of each other: of two inserts of a name at the same time, each sees the other. The one with the lower id
   * stays, and looks until the other has withdrawn; one that does not was there before.
   */
  async #isAlone(store: WorkerStore, worker: StoredWorker): Promise<boolean> {
    const others = this.#stores.filter((other) => other !== store)
    for (let look = 0; look < looks; look++) {
      const found = await Promise.all(others.map((other) => other.get(worker.record.name)))
      const taken = found.filter((other) => other !== undefined)
      if (taken.length === 0) return true
      if (taken.some(({ id }) => id < worker.id)) return false
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    }
    return false
  }

  /** Part of all workers by name. One round trip to each store, two when more than one has workers and the page is not the first. */
  async page(query: PageQuery): Promise<StorePage> {
    const pages = await Promise.all(this.#stores.map(async (store) => ({ store, ...(await store.page(query)) })))
    const filled = pages.filter(({ total }) => total > 0)
    const [only] = filled
    if (filled.length < 2) return { workers: only?.workers ?? [], total: only?.total ?? 0 }
    // What the others have before it decides where a store's own workers stand, so each is read from its start.
    const { offset, limit } = query
    const heads =
      offset === 0 ? filled : await Promise.all(filled.map(({ store }) => store.page({ ...query, offset: 0, limit: offset + limit })))
    const workers = heads.flatMap((head) => head.workers).sort(byName)
    return { workers: workers.slice(offset, offset + limit), total: heads.reduce((sum, head) => sum + head.total, 0) }
  }

  /** Every worker, by name. */
  async all(): Promise<readonly StoredWorker[]> {
    const lists = await Promise.all(this.#stores.map((store) => store.all()))
    return lists.flat().sort(byName)
  }

  get #stores(): readonly WorkerStore[] {
    return this.#opened.map(({ store }) => store)
  }

  #known({ driver, ...place }: PersistencePlace, client: unknown): WorkerStore | undefined {
    const named = Object.entries(place).filter(([, value]) => value !== undefined)
    const fits = ({ store, client: its }: Opened): boolean =>
      store.driver === driver &&
      (client === undefined || its === client) &&
      named.every(([key, value]) => store.place[key as keyof typeof place] === value)
    return this.#opened.find(fits)?.store
  }

  async #add(place: PersistencePlace, client: unknown): Promise<WorkerStore> {
    const store = this.#open(place, client)
    await store.prepare()
    this.#opened = [...this.#opened, { store, client }]
    return store
  }

  #unknownPlace({ driver, ...place }: PersistencePlace): string {
    const same = this.#stores.filter((store) => store.driver === driver)
    if (same.length === 0) return `the app has no store for the driver ${driver}`
    const known = same.map((store) => JSON.stringify(store.place)).join(', ')
    return `${JSON.stringify(place)} is no place that the app opened; the driver ${driver} has ${known}`
  }
}
