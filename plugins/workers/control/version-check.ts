import type { Processors } from '../processors/processors.js'
import type { RegisterVersion, VersionRecord, WorkerRecord } from '../record/record.js'
import { actingConcurrency } from '../record/scaled.js'

/** Rejects versions that could not be started with the record of their worker. */
export class VersionCheck {
  readonly #processors: Processors

  constructor(processors: Processors) {
    this.#processors = processors
  }

  /** Checks a new version. `given`: its processor may be a function, which is not stored. */
  async ofNew(record: WorkerRecord, stored: VersionRecord, given: Pick<RegisterVersion, 'processor'>): Promise<void> {
    await this.#processors.check(specOf(record, { ...stored, processor: given.processor ?? stored.processor }))
  }

  /** Checks a stored version. A processor that is registered only in the code of other nodes is checked where it runs. */
  async ofStored(record: WorkerRecord, stored: VersionRecord): Promise<void> {
    const spec = specOf(record, stored)
    if (stored.processor !== null || (await this.#processors.isKnown(spec))) await this.#processors.check(spec)
  }
}

function specOf<P>(record: WorkerRecord, stored: Omit<VersionRecord, 'processor'> & { readonly processor: P }) {
  const { version, processor, healthCheck } = stored
  return { worker: record.name, version, processor, healthCheck, isolation: record.isolation, concurrency: actingConcurrency(record) }
}
