import type { CompiledQuery, Kysely, QueryResult } from 'kysely'
import { retryConflicts } from './conflicts.js'

/** Runs compiled queries in one transaction, in order. Retries all of them after a deadlock. */
export function batchInTransaction(db: Kysely<unknown>, queries: readonly CompiledQuery[]): Promise<readonly QueryResult<unknown>[]> {
  return retryConflicts(() =>
    db.transaction().execute(async (tx) => {
      const results: QueryResult<unknown>[] = []
      for (const query of queries) results.push(await tx.executeQuery(query))
      return results
    }),
  )
}
