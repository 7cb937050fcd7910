import type { Cluster, Redis } from 'ioredis'
import { defineService } from 'zin'

export interface SetOptions {
  /** Life in ms; without it the key stays. */
  readonly ttlMs?: number
  /** Write only when the key is absent; atomic. */
  readonly ifAbsent?: boolean
  /** Write only when the key holds exactly this value; atomic. Not together with `ifAbsent`. */
  readonly ifValue?: string
}

/** A small key-value store shared by all processes of the app. Keys and values are text. */
export interface Kv {
  readonly driver: 'redis' | 'database'
  get(key: string): Promise<string | null>
  /** Values in the order of the keys, in one round trip. */
  getMany(keys: readonly string[]): Promise<readonly (string | null)[]>
  /** True when written. */
  set(key: string, value: string, options?: SetOptions): Promise<boolean>
  /** True when there was one. */
  delete(key: string): Promise<boolean>
  /** Adds `by` (default 1) and gives the sum; `ttlMs` counts from the first increment. Atomic. */
  increment(key: string, options?: { readonly by?: number; readonly ttlMs?: number }): Promise<number>
  /** Holds since when the store remembers, as {@link birth} gives it; to be read together with other keys. Absent after the store was emptied. */
  readonly birthKey: string
  /** Since when the store remembers, in ms since 1970: what was written earlier may be lost. A store that was emptied begins anew. */
  birth(): Promise<number>
  /** Round trip in integer ms. */
  ping(signal?: AbortSignal): Promise<number>
  /** Whether an error says that the store cannot be reached. */
  isUnavailable(error: unknown): boolean
  /** The client behind it, when the driver is redis and the plugin has started; owned by this plugin. It puts the prefix before keys by itself. */
  readonly redis: Redis | Cluster | undefined
}

export const kvService = defineService<Kv>('kv')
