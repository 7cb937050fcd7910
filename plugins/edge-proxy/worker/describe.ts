import type { EdgeValue } from './d1.js'
import type { TimedDatabase } from './timed-database.js'

/** Names of the columns of a query, which runs no row of it. */
export type Describe = (sql: string, values: readonly EdgeValue[], ms: number) => Promise<readonly string[]>

export interface Descriptions {
  readonly describe: Describe
  /** After a change of the schema. */
  clear(): void
}

const maxKept = 200

/** Describes queries, and keeps what it has found of the last ones. */
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
