import type { Cluster, Redis } from 'ioredis'
import { defineService } from 'zin'

export interface SetOptions {
  /** Time to live in ms, above 0, rounded up; without it the key does not expire. Anything else is KV_TTL_INVALID. */
  readonly ttlMs?: number
  /** Write only when the key is absent; atomic. */
  readonly ifAbsent?: boolean
  /** Write only when the key holds exactly this value; atomic. Not together with `ifAbsent`. */
  readonly ifValue?: string
}

/** A counter after it was incremented. */
export interface Tally {
  readonly sum: number
  /** ms until it expires, at least 0; undefined if it does not. */
  readonly leftMs: number | undefined
}

/**
 * A small key-value store shared by all processes of the app. Keys and values are strings. No call is applied twice: if its reply is lost, it
 * rejects with an error for which {@link Kv.isUnavailable} is true, and may have been applied. A caller that repeats a `set` with a condition
 * can therefore get false because of its own first write.
 */
export interface Kv {
  readonly driver: 'redis' | 'database'
  get(key: string): Promise<string | null>
  /** Values in the order of the keys, in one round trip. */
  getMany(keys: readonly string[]): Promise<readonly (string | null)[]>
  /** True when written. */
  set(key: string, value: string, options?: SetOptions): Promise<boolean>
  /** True when the key existed. */
  delete(key: string): Promise<boolean>
  /**
   * Adds `by` (default 1) and returns the sum; `ttlMs` counts from the first increment. Atomic. Rejects with KV_NOT_A_NUMBER unless the value
   * and `by` are integers.
   */
  increment(key: string, options?: { readonly by?: number; readonly ttlMs?: number }): Promise<number>
  /** Like {@link Kv.increment}, and returns also the time until the counter expires: for limits per time. One round trip on Redis. */
  tally(key: string, options?: { readonly by?: number; readonly ttlMs?: number }): Promise<Tally>
  /** The key that holds the value of {@link birth}, to be read together with other keys. Absent after a flush. */
  readonly birthKey: string
  /** Since when the store has kept its data, in ms since 1970: earlier writes may be lost. A flush resets it. */
  birth(): Promise<number>
  /** Round trip in integer ms. */
  ping(signal?: AbortSignal): Promise<number>
  /** Whether an error means that the store is unavailable. */
  isUnavailable(error: unknown): boolean
  /** The Redis client, when the driver is redis and the plugin has started; owned by this plugin. It adds the key prefix itself. */
  readonly redis: Redis | Cluster | undefined
}

export const kvService = defineService<Kv>('kv')
