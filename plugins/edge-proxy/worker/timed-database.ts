import type { EdgeBinding, EdgeResult, EdgeStatement, EdgeValue } from './d1.js'
import { timedOut } from './failures.js'
import { edgeLimits } from './limits.js'

/** A database with a deadline on every call, which rejects with QUERY_TIMEOUT. */
export interface TimedDatabase {
  prepare(sql: string): EdgeStatement
  /** Runs all statements in one transaction, or none. @param ms time limit; default: that of a request. */
  batch(statements: readonly EdgeStatement[], ms?: number): Promise<readonly EdgeResult[]>
  /** Returns the column names of a query. */
  columns(sql: string, values: readonly EdgeValue[], ms: number): Promise<readonly string[]>
}

/** Adds deadlines to the calls of a binding. */
export function timedDatabase(db: EdgeBinding): TimedDatabase {
  return {
    prepare: (sql) => db.prepare(sql),
    batch: (statements, ms = edgeLimits.timeoutMs) => withTimeout(db.batch([...statements]), ms),
    async columns(sql, values, ms) {
      const prepared = db.prepare(sql)
      const bound = values.length === 0 ? prepared : prepared.bind(...values)
      const [names = []] = await withTimeout(bound.raw({ columnNames: true }), ms)
      return names as readonly string[]
    },
  }
}

/** Rejects with QUERY_TIMEOUT after the time limit. D1 calls cannot be cancelled, so a later result is dropped. */
async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(timedOut()), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined)
  }
}
