import { setImmediate } from 'node:timers/promises'
import { type Logger, messageOf } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import { workerErrors } from '../errors.js'
import type { PersistencePlace } from '../record/record.js'

/** Maximum number of places besides those of the settings, because every search asks all of them. */
const most = 50

/** Attempts to add a place while other processes add some. */
const tries = 10

export interface PlacesOptions {
  readonly kv: Kv
  readonly key: string
  readonly log: Logger
}

/** The places of worker records besides those of the settings, kept so that every process finds them after a restart. */
export class Places {
  readonly #options: PlacesOptions
  /** Places that could not be opened, which is logged once. */
  readonly #warned = new Set<string>()
  #listing: Promise<readonly PersistencePlace[]> | undefined

  constructor(options: PlacesOptions) {
    this.#options = options
  }

  /** Calls in the same turn of the event loop share one read, which starts after all of them. */
  list(): Promise<readonly PersistencePlace[]> {
    this.#listing ??= setImmediate().then(async () => {
      this.#listing = undefined
      return placesIn(await this.#text())
    })
    return this.#listing
  }

  /** Throws INVALID_PERSISTENCE_CONFIG if there are too many, WORKER_STORE_UNAVAILABLE if the place could not be stored. */
  async add(place: PersistencePlace): Promise<void> {
    const { key, kv } = this.#options
    for (let attempt = 0; attempt < tries; attempt++) {
      const before = await this.#text()
      const places = placesIn(before)
      if (places.some((known) => keyOf(known) === keyOf(place))) return
      if (places.length >= most)
        throw workerErrors.INVALID_PERSISTENCE_CONFIG(
          `the workers of this app are in ${most} places already, besides those of the settings; use one of them`,
        )
      const condition = before === null ? { ifAbsent: true } : { ifValue: before }
      if (await this.#reach(kv.set(key, JSON.stringify([...places, place]), condition))) return
    }
    throw workerErrors.WORKER_STORE_UNAVAILABLE('the plugin kv', 'others changed the list of places at the same time')
  }

  /** A place cannot be opened: its workers are unknown until it can. */
  failed(place: PersistencePlace, error: unknown): void {
    const key = keyOf(place)
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    this.#options.log.warn({ place, err: error }, `the workers in ${key} are not found for now, and do not run: ${messageOf(error)}`)
  }

  opened(place: PersistencePlace): void {
    this.#warned.delete(keyOf(place))
  }

  #text(): Promise<string | null> {
    return this.#reach(this.#options.kv.get(this.#options.key))
  }

  async #reach<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      throw this.#options.kv.isUnavailable(error) ? workerErrors.WORKER_STORE_UNAVAILABLE('the plugin kv', messageOf(error)) : error
    }
  }
}

function placesIn(text: string | null): readonly PersistencePlace[] {
  return text === null ? [] : (JSON.parse(text) as readonly PersistencePlace[])
}

function keyOf({ driver, connection, table, keyPrefix }: PersistencePlace): string {
  return JSON.stringify({ driver, connection, table, keyPrefix })
}
