import { type Clock, messageOf, withDeadline } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { Queues } from 'zin/plugins/queues'
import { monitorErrors } from '../errors.js'
import { noAttempts, type SampledQueue, type Snapshot } from './snapshot.js'
import type { QueueAttempts, WorkerAttempts } from './worker-attempts.js'

const minuteMs = 60_000
/** Maximum age of a snapshot that is returned without sampling again, in ms. */
const freshMs = 1_000
const keptMs = 600_000
const callMs = 5_000
/** Deadline of the ping that tells whether the queue store is reachable, in ms. */
const pingMs = 500
const snapshotKey = 'monitor:snapshot'
const lockKey = 'monitor:sampling'

export interface SnapshotsOptions {
  readonly queues: Queues
  readonly attempts: WorkerAttempts
  readonly kv: Kv
  readonly clock: Clock
}

/** A snapshot with the attempts of the last two minutes, which only the history needs. */
export interface Sample {
  readonly snapshot: Snapshot
  readonly attempts: ReadonlyMap<string, QueueAttempts>
}

/**
 * Shares one snapshot between all processes. A process that needs a newer snapshot takes it, at most once a second across all processes;
 * the others read the stored one, so a hundred readers cost the queue store no more than one.
 */
export class Snapshots {
  readonly #options: SnapshotsOptions
  #last: Snapshot | undefined
  #reading: Promise<Snapshot> | undefined

  constructor(options: SnapshotsOptions) {
    this.#options = options
  }

  /** Returns a snapshot that is at most about a second old. 503 QUEUE_CONNECTION_ERROR, METRIC_COLLECTION_ERROR. */
  current(): Promise<Snapshot> {
    const last = this.#last
    if (last !== undefined && this.#isFresh(last)) return Promise.resolve(last)
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Samples now, and stores the snapshot for the other processes. */
  async take(): Promise<Sample> {
    const { clock, kv, queues } = this.#options
    const at = clock.now()
    const samples = await queues.sample(await queues.names())
    const attempts = await this.#metrics(this.#options.attempts.read(at))
    // The counts cover the previous and the current minute.
    const seconds = (at - (Math.floor(at / minuteMs) - 1) * minuteMs) / 1000
    const sampled = [...samples].map(([name, { oldestWaiting, ...sample }]): [string, SampledQueue] => {
      const { hour, minutes } = attempts.get(name) ?? { hour: noAttempts, minutes: new Map<number, { completed: number }>() }
      const completed = [...minutes.values()].reduce((sum, minute) => sum + minute.completed, 0)
      return [name, { ...sample, oldestWaiting: oldestWaiting ?? null, hour, throughput: completed / seconds }]
    })
    const snapshot: Snapshot = { at, queues: Object.fromEntries(sampled) }
    // One that was begun earlier may end later: what is known never goes back.
    if (this.#last !== undefined && this.#last.at > at) return { snapshot, attempts }
    this.#last = snapshot
    await this.#metrics(kv.set(snapshotKey, JSON.stringify(snapshot), { ttlMs: keptMs }))
    return { snapshot, attempts }
  }

  async #read(): Promise<Snapshot> {
    const { kv } = this.#options
    const stored = parsed(await this.#metrics(kv.get(snapshotKey)))
    if (stored !== undefined && this.#isFresh(stored)) {
      this.#last = stored
      return stored
    }
    const isOurTurn = await this.#metrics(kv.set(lockKey, '1', { ifAbsent: true, ttlMs: freshMs }))
    return isOurTurn || stored === undefined ? (await this.take()).snapshot : stored
  }

  #isFresh({ at }: Snapshot): boolean {
    return Math.abs(this.#options.clock.now() - at) < freshMs
  }

  /** Converts failures to METRIC_COLLECTION_ERROR, or to QUEUE_CONNECTION_ERROR if the queue store is also unreachable. */
  async #metrics<T>(work: Promise<T>): Promise<T> {
    try {
      return await withDeadline(work, callMs, `no response within ${callMs} ms`)
    } catch (error) {
      await withDeadline(this.#options.queues.ping(), pingMs, `no response within ${pingMs} ms`).catch((reason: unknown) => {
        throw monitorErrors.QUEUE_CONNECTION_ERROR(messageOf(reason))
      })
      throw monitorErrors.METRIC_COLLECTION_ERROR(messageOf(error))
    }
  }
}

function parsed(text: string | null): Snapshot | undefined {
  return text === null ? undefined : (JSON.parse(text) as Snapshot)
}
