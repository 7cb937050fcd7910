import { LRUCache } from 'lru-cache'
import type { Clock } from 'zin'
import type { DeviceRecord } from './store/devices/contract.js'

/** Resolution of `lastSeenAt`, in ms. */
const STEP = 5 * 60_000

export interface LastSeenParts {
  readonly clock: Clock
  readonly touch: (deviceId: string, at: number) => Promise<void>
  readonly failed: (error: unknown) => void
}

/** Background writes that no response waits for, such as the time a device was last seen. */
export class LastSeen {
  readonly #parts: LastSeenParts
  readonly #noted = new LRUCache<string, number>({ max: 10_000 })
  readonly #pending = new Set<Promise<void>>()

  constructor(parts: LastSeenParts) {
    this.#parts = parts
  }

  note({ deviceId, lastSeenAt }: DeviceRecord): void {
    const now = this.#parts.clock.now()
    if (now - Math.max(lastSeenAt, this.#noted.get(deviceId) ?? 0) < STEP) return
    this.#noted.set(deviceId, now)
    this.also(this.#parts.touch(deviceId, now))
  }

  /** Tracks another background write; a failure is only reported. */
  also(write: Promise<void>): void {
    const done = write.catch(this.#parts.failed).finally(() => this.#pending.delete(done))
    this.#pending.add(done)
  }

  /** Waits for the writes in progress. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending)
  }
}
