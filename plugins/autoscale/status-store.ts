import { withDeadline } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { ScalingStatus } from './contract.js'
import type { Known } from './recommend/recommend.js'

const key = 'autoscale:status'
const storeMs = 5_000
const late = `no response from the key-value store within ${storeMs} ms`

/** A status with what is needed to correct it by the jobs that run when it is read, and to continue from it on another leader. */
export interface StoredStatus extends ScalingStatus, Known {
  readonly queueName: string
  /** Parallel jobs of one worker. */
  readonly concurrency: number
  /** Desired number while jobs run that could outlast the end of their process. */
  readonly present: number
}

/** The last statuses, shared with all processes in one key that the leader writes once per round. */
export class StatusStore {
  readonly #kv: Kv
  readonly #ttlMs: number

  /** @param ttlMs Time after which the statuses expire. */
  constructor(kv: Kv, ttlMs: number) {
    this.#kv = kv
    this.#ttlMs = ttlMs
  }

  async write(statuses: readonly StoredStatus[]): Promise<void> {
    await withDeadline(this.#kv.set(key, JSON.stringify(statuses), { ttlMs: this.#ttlMs }), storeMs, late)
  }

  async read(): Promise<readonly StoredStatus[]> {
    const stored = await withDeadline(this.#kv.get(key), storeMs, late)
    const statuses = stored === null ? [] : (JSON.parse(stored) as readonly Partial<StoredStatus>[])
    // During an update, the leader may be an earlier version.
    return statuses.filter((status): status is StoredStatus => status.present !== undefined)
  }
}
