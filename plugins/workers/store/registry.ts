import { workerErrors } from '../errors.js'
import type { PersistencePlace, WorkerRecord } from '../record/record.js'
import { byName, type PageQuery, type StoredWorker, type StorePage, type WorkerStore } from './contract.js'
import type { Places } from './places.js'

export interface Located {
  readonly store: WorkerStore
  readonly worker: StoredWorker
}

/** Opens a store at a location; the settings are the defaults for what it does not specify. Throws INVALID_PERSISTENCE_CONFIG. */
export type OpenStore = (place: PersistencePlace, client: unknown) => WorkerStore

export interface StoreRequest {
  /** A database, key-value store, document database or edge binding that was passed in code. */
  readonly client?: unknown
  /** Whether the request comes from code of the app. Other requests can only use stores that are open already, except with `mayOpen`. */
  readonly trusted: boolean
  /** Called before a place that is not open is used by another request; throws if that may not be. @param creates whether a table or prefix is new. */
  readonly mayOpen?: ((creates: boolean) => void | Promise<void>) | undefined
}

interface Opened {
  readonly store: WorkerStore
  readonly client: unknown
}

/** How often an insert checks whether a concurrent one with the same name withdraws, and the wait in between, in ms. */
const looks = 5
const lookMs = 20

/** The stores of one app. The name of a worker is unique across all of them. */
export class StoreRegistry {
  #opened: readonly Opened[]
  readonly #open: OpenStore
  /** The store in which a name was found last, so that the next search takes one round trip. */
  readonly #seen = new Map<string, WorkerStore>()
  readonly #places: Places | undefined
  /** Serializes the opening of stores, so that the same one is not added twice. */
  #opening: Promise<unknown> = Promise.resolve()

  /** @param places other places in which workers were created; absent: they are not kept. */
  constructor(stores: readonly WorkerStore[], open: OpenStore, places?: Places) {
    this.#opened = stores.map((store) => ({ store, client: undefined }))
    this.#open = open
    this.#places = places
  }

  /** Whether any store is shared with other processes. */
  get shared(): boolean {
    return this.#stores.some((store) => store.shared)
  }

  /** Prepares the stores of the app. Other places are opened with the first search. */
  async prepare(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.prepare()))
  }

  /** Returns the store that a record names, and opens it if needed. */
  async storeOf(record: WorkerRecord, request: StoreRequest): Promise<WorkerStore> {
    const { client, mayOpen, trusted } = request
    const place = record.infrastructure.persistence
    const isNamed = client === undefined && Object.keys(place).length > 1
    if (isNamed && this.#known(place, client) === undefined) await this.#openPlaces()
    const known = this.#known(place, client)
    if (known !== undefined) return known
    if (!trusted && (mayOpen === undefined || !isNamed)) throw workerErrors.INVALID_PERSISTENCE_CONFIG(this.#unknownPlace(place))
    const keeps = isNamed && place.driver !== 'memory'
    if (!trusted && keeps && this.#places === undefined)
      throw workerErrors.INVALID_PERSISTENCE_CONFIG('another place needs the plugin kv, which keeps the list of places')
    return this.#inTurn(async () => {
      const ready = this.#known(place, client)
      if (ready !== undefined) return ready
      const store = this.#open(place, client)
      const isNew = place.table !== undefined || place.keyPrefix !== undefined || (await store.exists?.()) !== true
      if (!trusted) await mayOpen?.(isNew)
      await store.prepare()
      if (store.exists !== undefined && !(await store.exists()))
        throw workerErrors.INVALID_PERSISTENCE_CONFIG(`the table ${JSON.stringify(store.place)} exists, and is not one of workers`)
      if (keeps) await this.#places?.add(place)
      this.#opened = [...this.#opened, { store, client }]
      return store
    })
  }

  /** Finds a worker by name. Rejects if the worker is not found and a store is unreachable, or if the store that had it last is. */
  async find(name: string): Promise<Located | undefined> {
    const last = this.#seen.get(name)
    const worker = await last?.get(name)
    if (last !== undefined && worker !== undefined) return { store: last, worker }
    const opened = this.#opened
    const others = this.#stores.filter((store) => store !== last)
    // Another process may have created it in a place that this one has not opened yet. A fault counts only if no store has the worker.
    const places = this.#places?.list()
    places?.catch(() => undefined)
    const results = await Promise.allSettled(others.map((store) => store.get(name)))
    for (const [index, store] of others.entries()) {
      const result = results[index]
      if (result?.status !== 'fulfilled' || result.value === undefined) continue
      this.#seen.set(name, store)
      return { store, worker: result.value }
    }
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    this.#seen.delete(name)
    await this.#openPlaces(places)
    return this.#opened === opened ? undefined : this.find(name)
  }

  /** Inserts a worker unless its name is taken in any store. Others may have seen it if it was withdrawn, or if this rejects. */
  async insert(store: WorkerStore, worker: StoredWorker): Promise<'inserted' | 'taken' | 'withdrawn'> {
    if ((await this.find(worker.record.name)) !== undefined || !(await store.insert(worker))) return 'taken'
    try {
      if (await this.#isAlone(store, worker)) {
        this.#seen.set(worker.record.name, store)
        return 'inserted'
      }
    } catch (error) {
      await store.remove(worker).catch(() => undefined)
      throw error
    }
    await store.remove(worker)
    return 'withdrawn'
  }

  /**
   * Returns whether no other store has a worker with this name. Stores are independent, so concurrent inserts of a name into two stores see
   * each other: the one with the lower id stays, and waits for the other to be withdrawn. One that is not withdrawn existed before.
   */
  async #isAlone(store: WorkerStore, worker: StoredWorker): Promise<boolean> {
    // Another process may have inserted it in a place that this one has not opened: that is in the list, or this insert comes before its look.
    await this.#openPlaces()
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

  /**
   * Returns a page of all workers, sorted by name. Takes one round trip per store, or two if several stores have workers and the offset is
   * not 0.
   */
  async page(query: PageQuery): Promise<StorePage> {
    const pages = await Promise.all(this.#stores.map(async (store) => ({ store, ...(await store.page(query)) })))
    const filled = pages.filter(({ total }) => total > 0)
    const [only] = filled
    if (filled.length < 2) return { workers: only?.workers ?? [], total: only?.total ?? 0 }
    // The position of a worker depends on the workers of all stores before it, so each store is read from its start.
    const { offset, limit } = query
    const heads =
      offset === 0 ? filled : await Promise.all(filled.map(({ store }) => store.page({ ...query, offset: 0, limit: offset + limit })))
    const workers = heads.flatMap((head) => head.workers).sort(byName)
    return { workers: workers.slice(offset, offset + limit), total: heads.reduce((sum, head) => sum + head.total, 0) }
  }

  /** Returns all workers, sorted by name. */
  async all(): Promise<readonly StoredWorker[]> {
    const seen = [...this.#seen.keys()]
    await this.#openPlaces()
    const workers = (await Promise.all(this.#stores.map((store) => store.all()))).flat()
    const names = new Set(workers.map(({ record }) => record.name))
    // Other nodes may have removed these.
    for (const name of seen) if (!names.has(name)) this.#seen.delete(name)
    return workers.sort(byName)
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

  /** Opens the places in which workers were created. One that cannot be opened hides no other. */
  async #openPlaces(listed = this.#places?.list()): Promise<void> {
    const places = this.#places
    if (places === undefined || listed === undefined) return
    const unopened = (await listed).filter((place) => this.#known(place, undefined) === undefined)
    if (unopened.length === 0) return
    await this.#inTurn(() =>
      Promise.all(
        unopened.map(async (place) => {
          if (this.#known(place, undefined) !== undefined) return
          try {
            await this.#add(this.#open(place, undefined), undefined)
            places.opened(place)
          } catch (error) {
            places.failed(place, error)
          }
        }),
      ),
    )
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#opening.then(work)
    this.#opening = turn.catch(() => undefined)
    return turn
  }

  async #add(store: WorkerStore, client: unknown): Promise<WorkerStore> {
    await store.prepare()
    this.#opened = [...this.#opened, { store, client }]
    return store
  }

  #unknownPlace({ driver, ...place }: PersistencePlace): string {
    const same = this.#stores.filter((store) => store.driver === driver)
    if (same.length === 0) return `the app has no store for the driver ${driver}`
    const known = same.map((store) => JSON.stringify(store.place)).join(', ')
    return `the app has not opened ${JSON.stringify(place)}; the driver ${driver} has ${known}`
  }
}
