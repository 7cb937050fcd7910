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
const maxKeys = 100_000

/** Counters of one process, with a bounded size. */
export class MemoryCounters implements Counters {
  readonly #clock: Clock
  readonly #most: number
  readonly #windows = new Map<string, { sum: number; readonly end: number }>()

  constructor(clock: Clock, most = maxKeys) {
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
  const add = async (key: string, by: number, windowMs: number): Promise<Count> => {
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
  }
  return { add: joined(add) }
}

type Add = Counters['add']

interface Waiting {
  readonly by: number
  readonly resolve: (count: Count) => void
  readonly reject: (error: unknown) => void
}

/**
 * Sends one addition per key at a time, and those that come meanwhile together as the next one: a caller that sends many requests at once would
 * otherwise make them wait for each other in the store, row by row.
 */
function joined(add: Add): Add {
  const inFlight = new Map<string, Waiting[]>()
  const send: Add = async (key, by, windowMs) => {
    const waiting: Waiting[] = []
    inFlight.set(key, waiting)
    try {
      return await add(key, by, windowMs)
    } finally {
      inFlight.delete(key)
      if (waiting.length > 0) sendAll(key, waiting, windowMs)
    }
  }
  const sendAll = (key: string, waiting: readonly Waiting[], windowMs: number): void => {
    const total = waiting.reduce((sum, { by }) => sum + by, 0)
    send(key, total, windowMs).then(
      ({ sum, leftMs }) => {
        let before = sum - total
        for (const { by, resolve } of waiting) {
          before += by
          resolve({ sum: before, leftMs })
        }
      },
      (error: unknown) => {
        for (const { reject } of waiting) reject(error)
      },
    )
  }
  return (key, by, windowMs) => {
    const waiting = inFlight.get(key)
    return waiting === undefined
      ? send(key, by, windowMs)
      : new Promise((resolve, reject) => {
          waiting.push({ by, resolve, reject })
        })
  }
}
