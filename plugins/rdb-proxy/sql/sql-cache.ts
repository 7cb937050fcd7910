import { LRUCache } from 'lru-cache'

const maxEntries = 2000
/** Maximum size of the SQL texts, in bytes. */
const maxBytes = 4 * 2 ** 20

/** Creates a cache of small values by SQL text, bounded by the number and by the size of the texts. */
export function sqlCache<Value extends {}>(): LRUCache<string, Value> {
  // A character takes up to two bytes in memory; a size must be positive.
  return new LRUCache({ max: maxEntries, maxSize: maxBytes, sizeCalculation: (_, sql) => sql.length * 2 + 1 })
}
