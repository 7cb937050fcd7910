import { openSqlite } from 'zin/plugins/sqlite'

/** A statement that never ends. */
export const runaway = 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c'

/** Returns whether a write transaction is open. */
export function isBeingWritten(file: string): boolean {
  const db = openSqlite(file)
  try {
    db.exec('begin immediate')
    db.exec('rollback')
    return false
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'SQLITE_BUSY') return true
    throw error
  } finally {
    db.close()
  }
}
