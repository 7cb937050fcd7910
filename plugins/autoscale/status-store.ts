import { withDeadline } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { ScalingStatus } from './contract.js'

const key = 'autoscale:status'
const storeMs = 5_000
const late = `no response from the key-value store within ${storeMs} ms`

/** The last statuses, shared with all processes in one key that the leader writes once per round. */
export class StatusStore {
  readonly #kv: Kv
  readonly #ttlMs: number

  /** @param ttlMs Time after which the statuses expire. */
  constructor(kv: Kv, ttlMs: number) {
    this.#kv = kv
    this.#ttlMs = ttlMs
  }

  async write(statuses: readonly ScalingStatus[]): Promise<void> {
    await withDeadline(this.#kv.set(key, JSON.stringify(statuses), { ttlMs: this.#ttlMs }), storeMs, late)
  }

  async read(): Promise<readonly ScalingStatus[]> {
    const stored = await withDeadline(this.#kv.get(key), storeMs, late)
    return stored === null ? [] : (JSON.parse(stored) as readonly ScalingStatus[])
  }
}
