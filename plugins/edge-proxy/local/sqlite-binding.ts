import type { EdgeBinding, EdgeResult, EdgeStatement, EdgeValue } from '../worker/d1.js'
import { edgeLimits } from '../worker/limits.js'
import type { TimedDatabase } from '../worker/timed-database.js'
import type { SqliteResult, SqliteStatement } from './sqlite-protocol.js'
import { SqliteQueue } from './sqlite-queue.js'

/** A SQLite file with the methods of a D1 binding and time limits. */
export interface SqliteBinding extends Omit<EdgeBinding, 'batch'>, TimedDatabase {
  /** Ends the running request and closes the file. */
  close(): Promise<void>
}

interface LocalStatement extends EdgeStatement, SqliteStatement {}

/**
 * Opens the file, readable only by its owner, in a child process: a statement blocks its thread, and only killing the process ends it.
 *
 * @param onLost called when the process exits unexpectedly; it is restarted.
 */
export async function openSqliteBinding(path: string, onLost: (why: string) => void = () => undefined): Promise<SqliteBinding> {
  const queue = new SqliteQueue({ path, onLost })
  await queue.open()
  const { timeoutMs } = edgeLimits
  const run = (statements: readonly SqliteStatement[], atomic: boolean, ms: number): Promise<readonly SqliteResult[]> =>
    queue.run({ statements: statements.map(({ sql, values }) => ({ sql, values })), atomic }, ms)
  const statement = (sql: string, values: readonly EdgeValue[]): LocalStatement => ({
    sql,
    values,
    bind: (...bound) => statement(sql, bound),
    async raw() {
      const [result] = await run([{ sql, values }], false, timeoutMs)
      return [result?.names ?? [], ...(result?.rows ?? [])]
    },
  })
  return {
    prepare: (sql) => statement(sql, []),
    batch: async (statements, ms = timeoutMs) => (await run(statements as readonly LocalStatement[], true, ms)).map(resultOf),
    async columns(sql, values, ms) {
      const [result] = await run([{ sql, values }], false, ms)
      return result?.names ?? []
    },
    close: () => queue.close(),
  }
}

function resultOf({ names, rows, changes }: SqliteResult): EdgeResult {
  return { results: rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]]))), meta: { changes } }
}
