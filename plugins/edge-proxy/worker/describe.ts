import type { EdgeBinding, EdgeValue } from './d1.js'

/** Names of the columns of a query, which runs no row of it. */
export type Describe = (sql: string, values: readonly EdgeValue[]) => Promise<readonly string[]>

export interface Descriptions {
  readonly describe: Describe
  /** After a change of the schema. */
  clear(): void
}

const maxKept = 200

/** Describes queries, and keeps what it has found of the last ones. */
export function createDescriptions(db: EdgeBinding): Descriptions {
  const kept = new Map<string, readonly string[]>()
  return {
    async describe(sql, values) {
      const known = kept.get(sql)
      if (known !== undefined) {
        kept.delete(sql)
        kept.set(sql, known)
        return known
      }
      const prepared = db.prepare(sql)
      const [names = []] = await (values.length === 0 ? prepared : prepared.bind(...values)).raw({ columnNames: true })
      kept.set(sql, names as readonly string[])
      const [oldest] = kept.size > maxKept ? kept.keys() : []
      if (oldest !== undefined) kept.delete(oldest)
      return names as readonly string[]
    },
    clear: () => kept.clear(),
  }
}
