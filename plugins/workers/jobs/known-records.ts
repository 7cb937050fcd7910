import { type Clock, DeadlineError, withDeadline, ZinError } from 'zin'
import type { WorkerRecord } from '../record/record.js'

/** How long a record may be used that its store can no longer confirm, in ms, and how many are kept for that. */
const maxAgeMs = 600_000
const mostKept = 10_000
/** Longest wait for a store when its record is known, in ms: the queue's store has its own deadline after it. */
const patienceMs = 500

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

  /** The stored record; the one read last while the store is away or slow, unless that was too long ago. */
  async of(name: string): Promise<WorkerRecord> {
    const known = this.#knownOf(name)
    const reading = this.#read(name).then(
      (record) => this.#keep(name, record),
      (error: unknown) => {
        if (!isAway(error)) this.#known.delete(name)
        throw error
      },
    )
    if (known === undefined) return reading
    try {
      return await withDeadline(reading, patienceMs, `the record of "${name}" is slow`)
    } catch (error) {
      if (isAway(error) || error instanceof DeadlineError) return known
      throw error
    }
  }

  #knownOf(name: string): WorkerRecord | undefined {
    const known = this.#known.get(name)
    return known !== undefined && this.#clock.monotonic() - known.at <= maxAgeMs ? known.record : undefined
  }

  #keep(name: string, record: WorkerRecord): WorkerRecord {
    this.#known.delete(name)
    this.#known.set(name, { record, at: this.#clock.monotonic() })
    const [oldest] = this.#known.keys()
    if (this.#known.size > mostKept && oldest !== undefined) this.#known.delete(oldest)
    return record
  }
}

function isAway(error: unknown): boolean {
  return error instanceof ZinError && error.code === 'WORKER_STORE_UNAVAILABLE'
}
