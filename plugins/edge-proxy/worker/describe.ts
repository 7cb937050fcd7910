import type { EdgeValue } from './d1.js'
import type { TimedDatabase } from './timed-database.js'

/** Returns the column names of a query without running it. */
export type Describe = (sql: string, values: readonly EdgeValue[], ms: number) => Promise<readonly string[]>

export interface Descriptions {
  readonly describe: Describe
  /** Call after a schema change. */
  clear(): void
}

const maxKept = 200

/** Describes queries, with an LRU cache of the results. */
export function createDescriptions(db: TimedDatabase): Descriptions {
  const kept = new Map<string, readonly string[]>()
  return {
    async describe(sql, values, ms) {
      const known = kept.get(sql)
      if (known !== undefined) {
        kept.delete(sql)
        kept.set(sql, known)
        return known
      }
      const names = await db.columns(sql, values, ms)
      kept.set(sql, names)
      const [oldest] = kept.size > maxKept ? kept.keys() : []
      if (oldest !== undefined) kept.delete(oldest)
      return names
    },
    clear: () => kept.clear(),
  }
}
