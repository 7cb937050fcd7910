import { type Clock, ZinError } from 'zin'
import type { WorkerRecord } from '../record/record.js'

/** How long a record may be used that its store can no longer confirm, in ms, and how many are kept for that. */
const maxAgeMs = 600_000
const mostKept = 10_000

/** Records as they were read last, so that jobs can be added while only the store of the records is away. */
export class KnownRecords {
  readonly #clock: Clock
  readonly #read: (name: string) => Promise<WorkerRecord>
  /** The one read longest ago first. */
  readonly #known = new Map<string, { readonly record: WorkerRecord; readonly at: number }>()

  /** @param read the record of a worker from its store. */
  constructor(clock: Clock, read: (name: string) => Promise<WorkerRecord>) {
    this.#clock = clock
    this.#read = read
  }

  /** The stored record; the one read last while the store is away, unless that was too long ago. */
  async of(name: string): Promise<WorkerRecord> {
    try {
      const record = await this.#read(name)
      this.#keep(name, record)
      return record
    } catch (error) {
      const known = this.#known.get(name)
      if (known !== undefined && isAway(error) && this.#clock.monotonic() - known.at <= maxAgeMs) return known.record
      if (!isAway(error)) this.#known.delete(name)
      throw error
    }
  }

  #keep(name: string, record: WorkerRecord): void {
    this.#known.delete(name)
    this.#known.set(name, { record, at: this.#clock.monotonic() })
    const [oldest] = this.#known.keys()
    if (this.#known.size > mostKept && oldest !== undefined) this.#known.delete(oldest)
  }
}

function isAway(error: unknown): boolean {
  return error instanceof ZinError && error.code === 'WORKER_STORE_UNAVAILABLE'
}
