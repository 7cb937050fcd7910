import { LRUCache } from 'lru-cache'

export interface SqlCacheOptions<Value> {
  /** Default: 2000. */
  readonly maxEntries?: number
  /** Maximum size of the SQL texts together, in bytes; a character takes two. Default: 4 MiB. */
  readonly maxBytes?: number
  /** Maximum size of one SQL text, in bytes; the value of a longer one is not kept. Default: `maxBytes`. */
  readonly maxTextBytes?: number
  /** Called when an entry gives way to another one. */
  readonly onEvict?: (sql: string, value: Value) => void
}

/** Creates a cache of small values by SQL text, bounded by the number and by the size of the texts. */
export function sqlCache<Value extends {}>(options: SqlCacheOptions<Value> = {}): LRUCache<string, Value> {
  const { maxEntries = 2000, maxBytes = 4 * 2 ** 20, maxTextBytes = maxBytes, onEvict } = options
  return new LRUCache({
    max: maxEntries,
    maxSize: maxBytes,
    maxEntrySize: maxTextBytes,
    // A character takes up to two bytes in memory; a size must be positive.
    sizeCalculation: (_, sql) => Math.max(1, sql.length * 2),
    ...(onEvict && {
      dispose: (value, sql, reason) => {
        if (reason === 'evict') onEvict(sql, value)
      },
    }),
  })
}
