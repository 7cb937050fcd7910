import { WaitBudget } from 'zin'
import type { Workers, WorkerView } from 'zin/plugins/workers'
import { bestMatches } from './shared/best-matches.js'

type Named = Pick<WorkerView, 'name' | 'state'>

export interface FoundWorkers {
  /** The best matches first. */
  readonly workers: readonly Named[]
  /** Number of all matches. */
  readonly total: number
  /** Number of workers that were searched. */
  readonly searched: number
  /** False if the app has more workers than that. */
  readonly complete: boolean
}

interface WorkersRead {
  readonly named: ReadonlyMap<string, Named>
  readonly complete: boolean
}

const pageSize = 100
const mostWorkers = 10_000

/** Finds workers by a part of their name, also those that are not active. */
export class WorkerSearch {
  readonly #workers: () => Workers | undefined
  readonly #waitMs: number
  #reading: Promise<WorkersRead> | undefined

  /** @param waitMs time limit of a search, in ms; a search that takes longer throws ZIN_DEADLINE. */
  constructor(workers: () => Workers | undefined, waitMs = 5_000) {
    this.#workers = workers
    this.#waitMs = waitMs
  }

  async find(text: string, most: number): Promise<FoundWorkers> {
    const { complete, named } = await this.#read()
    const { best, total } = bestMatches(named.values(), ({ name }) => name, text, most)
    return { workers: best, total, searched: named.size, complete }
  }

  /** Searches that run at the same time share one read. */
  #read(): Promise<WorkersRead> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readAll(): Promise<WorkersRead> {
    const service = this.#workers()
    const named = new Map<string, Named>()
    if (service?.enabled !== true) return { named, complete: true }
    const waits = new WaitBudget(this.#waitMs, `The workers could not be read within ${this.#waitMs} ms`)
    for (let page = 1; page * pageSize <= mostWorkers; page++) {
      const { pagination, workers } = await waits.run(() => service.list({ page, limit: pageSize, includeInactive: true }))
      for (const { name, state } of workers) named.set(name, { name, state })
      if (page >= pagination.totalPages) return { named, complete: true }
    }
    return { named, complete: false }
  }
}
