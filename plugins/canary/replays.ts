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
/** Number of jobs processed concurrently. */
const batch = 20
const tries = 20

export interface Replayed {
  readonly record: CanaryRecord
  /** Jobs added to the queue again. */
  readonly replayed: number
}

/** Adds jobs that failed permanently on a version to their queue again, with all their attempts. Retries run on the stable version. */
export class Replays {
  readonly #parts: ReplaysParts

  constructor(parts: ReplaysParts) {
    this.#parts = parts
  }

  /**
   * @param some Jobs to replay. Default: all known casualties of the canary.
   * @param onDone Called for each job that needs no further replay, so that a call after an error can leave it out.
   */
  async run(record: CanaryRecord, some?: readonly Casualty[], onDone: (casualty: Casualty) => void = () => undefined): Promise<Replayed> {
    const casualties = some ?? (await this.#parts.store.casualties(record.id))
    let replayed = 0
    try {
      for (let at = 0; at < casualties.length; at += batch) {
        const retries = casualties.slice(at, at + batch).map(async (casualty) => {
          if (await this.#retry(casualty)) replayed++
          onDone(casualty)
        })
        for (const outcome of await Promise.allSettled(retries)) if (outcome.status === 'rejected') throw outcome.reason
      }
    } finally {
      record = await this.#count(record, replayed)
    }
    return { record, replayed }
  }

  /** Lets every process replay its jobs that fail from now on. Returns the stored record. */
  async later(record: CanaryRecord): Promise<CanaryRecord> {
    let now: CanaryRecord | undefined = record
    for (let attempt = 0; attempt < tries && now?.id === record.id && now.replaysLater !== true; attempt++) {
      const after: CanaryRecord | undefined = await this.#parts.transitions.amend(now, { replaysLater: true })
      if (after !== undefined) return after
      now = await this.#parts.store.get(record.worker)
    }
    return now ?? record
  }

  async #retry({ at, id, queue }: Casualty): Promise<boolean> {
    const { queues } = this.#parts
    const late = `the queue "${queue}" did not respond within ${deadlineMs} ms`
    const found = await withDeadline(queues.job(queue, id), deadlineMs, late)
    if (found?.state !== 'failed') return false
    // It was replayed before, and has failed again on the stable version.
    if ((found.job.finishedOn ?? 0) > at) return false
    if (queues.retryGate.active && (await queues.retryGate.call(queue, id)).denied) return false
    // Nothing is changed if another process has retried it first, or if it cannot run again. Its parents wait for it again.
    return (await withDeadline(queues.retry(queue, id, { resetAttempts: true }), deadlineMs, late)).jobs !== undefined
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
