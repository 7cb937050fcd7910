import { withDeadline } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { ScalingStatus } from './contract.js'

const key = 'autoscale:status'
const storeMs = 5_000
const late = `no response from the key-value store within ${storeMs} ms`

/** What the leader decided last, for all processes: one key, written once a round. */
export class StatusStore {
  readonly #kv: Kv
  readonly #ttlMs: number

  /** @param ttlMs after which it is too old to show. */
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
