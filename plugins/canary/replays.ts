import { withDeadline } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import type { CanaryRecord } from './record.js'
import type { CanaryStore, Casualty } from './store/contract.js'
import type { Transitions } from './transitions.js'

export interface ReplaysParts {
  readonly queues: Queues
  readonly store: CanaryStore
  readonly transitions: Transitions
}

const deadlineMs = 5_000
/** Jobs that are looked for at a time. */
const batch = 20
const tries = 20

export interface Replayed {
  readonly record: CanaryRecord
  /** Added to the queue again. */
  readonly replayed: number
  /** Not failed any more, or no longer kept by the queue. */
  readonly left: number
}

/** Adds jobs that failed for good on a version to their queue again, with all their attempts. Every retry runs on the stable version. */
export class Replays {
  readonly #parts: ReplaysParts

  constructor(parts: ReplaysParts) {
    this.#parts = parts
  }

  /** @param some default: all that are known of the canary. */
  async run(record: CanaryRecord, some?: readonly Casualty[]): Promise<Replayed> {
    const casualties = some ?? (await this.#parts.store.casualties(record.id))
    let replayed = 0
    try {
      for (let at = 0; at < casualties.length; at += batch) {
        const done = await Promise.all(casualties.slice(at, at + batch).map((casualty) => this.#retry(casualty)))
        replayed += done.filter(Boolean).length
      }
    } finally {
      record = await this.#count(record, replayed)
    }
    return { record, replayed, left: casualties.length - replayed }
  }

  async #retry({ id, queue }: Casualty): Promise<boolean> {
    const { queues } = this.#parts
    const late = `the queue "${queue}" gave no response within ${deadlineMs} ms`
    const found = await withDeadline(queues.job(queue, id), deadlineMs, late)
    if (found?.state !== 'failed') return false
    try {
      await withDeadline(found.job.retry('failed', { resetAttemptsMade: true }), deadlineMs, late)
      return true
    } catch (error) {
      // Another process was faster.
      const now = await withDeadline(queues.job(queue, id), deadlineMs, late)
      if (now?.state === 'failed') throw error
      return false
    }
  }

  async #count(record: CanaryRecord, replayed: number): Promise<CanaryRecord> {
    const { store, transitions } = this.#parts
    let now: CanaryRecord | undefined = record
    for (let attempt = 0; attempt < tries && replayed > 0 && now?.id === record.id; attempt++) {
      const after: CanaryRecord | undefined = await transitions.amend(now, { replayed: now.replayed + replayed })
      if (after !== undefined) return after
      now = await store.get(record.worker)
    }
    return now ?? record
  }
}
