import { type Clock, DeadlineError, withDeadline, ZinError } from 'zin'
import type { WorkerRecord } from '../record/record.js'

/** How long a cached record may be used while its store is unavailable, in ms, and the maximum number of cached records. */
const maxAgeMs = 600_000
const mostKept = 10_000
/** How long to wait for the store when the record is cached, in ms; the deadline of the queue store follows. */
const patienceMs = 500
/** The same for a record that messages keep up to date. */
const keptPatienceMs = 50

/**
 * A cache of the last read records, so that jobs can be added while only the store of the records is unavailable, or busy: in a transaction
 * on the only connection, a read waits for the end of the transaction, which waits for the job that it adds.
 */
export class KnownRecords {
  readonly #clock: Clock
  readonly #read: (name: string) => Promise<WorkerRecord>
  readonly #kept: (name: string) => WorkerRecord | undefined
  /** Reads that have taken longer than their patience. */
  #late = 0
  /** Least recently read first. */
  readonly #known = new Map<string, { readonly record: WorkerRecord; readonly at: number }>()

  /**
   * @param read reads the record of a worker from its store.
   * @param kept returns the record that messages about changes keep up to date; undefined if it is unknown, or may be outdated.
   */
  constructor(
    clock: Clock,
    read: (name: string) => Promise<WorkerRecord>,
    kept: (name: string) => WorkerRecord | undefined = () => undefined,
  ) {
    this.#clock = clock
    this.#read = read
    this.#kept = kept
  }

  /** Returns the stored record, or the cached one while the store is unavailable or slow, unless it is too old. */
  async of(name: string): Promise<WorkerRecord> {
    const kept = this.#kept(name)
    if (kept !== undefined && this.#late > 0) return kept
    const known = this.#knownOf(name)
    const reading = this.#read(name).then(
      (record) => this.#keep(name, record),
      (error: unknown) => {
        if (!isUnavailable(error)) this.#known.delete(name)
        throw error
      },
    )
    const cached = kept ?? known
    if (cached === undefined) return reading
    const patience = kept === undefined ? patienceMs : keptPatienceMs
    try {
      return await withDeadline(reading, patience, `the record of "${name}" was not read within ${patience} ms`)
    } catch (error) {
      if (isUnavailable(error) && known !== undefined) return known
      if (!(error instanceof DeadlineError)) throw error
      this.#late++
      const end = (): void => void this.#late--
      reading.then(end, end)
      return cached
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

function isUnavailable(error: unknown): boolean {
  return error instanceof ZinError && error.code === 'WORKER_STORE_UNAVAILABLE'
}
