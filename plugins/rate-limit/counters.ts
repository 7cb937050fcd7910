import { type Clock, withDeadline } from 'zin'
import type { Kv } from 'zin/plugins/kv'

/** A count in its window. */
export interface Count {
  readonly sum: number
  /** ms until the window ends. */
  readonly leftMs: number
}

/** Counts by key in windows that start with the first request. */
export interface Counters {
  /** Adds to a count and returns it. Atomic. */
  add(key: string, by: number, windowMs: number): Promise<Count>
}

/** Most keys that a process counts at a time; beyond that, the least recently used one is forgotten. */
export const mostKeys = 100_000

/** Counters of one process, with a bounded size. */
export class MemoryCounters implements Counters {
  readonly #clock: Clock
  readonly #most: number
  readonly #windows = new Map<string, { sum: number; readonly end: number }>()

  constructor(clock: Clock, most = mostKeys) {
    this.#clock = clock
    this.#most = most
  }

  get size(): number {
    return this.#windows.size
  }

  async add(key: string, by: number, windowMs: number): Promise<Count> {
    const now = this.#clock.monotonic()
    const known = this.#windows.get(key)
    const window = known !== undefined && known.end > now ? known : { sum: 0, end: now + windowMs }
    window.sum += by
    // Setting it again moves it to the end.
    this.#windows.delete(key)
    this.#windows.set(key, window)
    if (this.#windows.size > this.#most) this.#windows.delete(this.#windows.keys().next().value as string)
    // A sum of fractions may be a little more than it was made of.
    return { sum: window.sum, leftMs: Math.min(windowMs, window.end - now) }
  }

  /** Deletes windows that have ended. */
  sweep(): void {
    const now = this.#clock.monotonic()
    for (const [key, { end }] of this.#windows) if (end <= now) this.#windows.delete(key)
  }
}

export interface KvCountersParts {
  readonly kv: () => Kv | undefined
  readonly clock: Clock
  readonly timeoutMs: number
  /** Called when the store fails, once until it responds again, and when it does. */
  readonly failed: (error: unknown) => void
  readonly recovered: () => void
}

/** For how long the store is not asked after it failed, in ms, so that not every request waits for it. */
const pauseMs = 1_000

/** Counters of all processes. Rejects when the store fails, does not respond in time, or has just done so. */
export function kvCounters({ kv, clock, timeoutMs, failed, recovered }: KvCountersParts): Counters {
  let outage: { readonly error: unknown; readonly until: number } | undefined
  const ask = async (key: string, by: number, windowMs: number): Promise<Count> => {
    const store = kv()
    if (store === undefined) throw new Error('the plugin kv is disabled')
    const { sum, leftMs = windowMs } = await store.tally(`rate:${key}`, { by, ttlMs: windowMs })
    return { sum, leftMs }
  }
  return {
    async add(key, by, windowMs) {
      if (outage !== undefined && clock.monotonic() < outage.until) throw outage.error
      try {
        const count = await withDeadline(ask(key, by, windowMs), timeoutMs, `the store did not respond within ${timeoutMs} ms`)
        if (outage !== undefined) recovered()
        outage = undefined
        return count
      } catch (error) {
        if (outage === undefined) failed(error)
        outage = { error, until: clock.monotonic() + pauseMs }
        throw error
      }
    },
  }
}
