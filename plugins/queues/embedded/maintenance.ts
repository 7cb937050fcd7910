import type { PgliteSession } from './session.js'

/**
 * Does what a PostgreSQL server does in the background and PGlite does not: removes dead rows, refreshes the planner statistics and
 * truncates the log. Without it the data grows without bound. Takes 10 to 60 ms.
 */
export async function maintain(session: PgliteSession): Promise<void> {
  const release = await session.acquire()
  try {
    if (session.closed) return
    const { result } = await session.run("select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'bullmq'")
    for (const { name } of result.rows) await session.run(`VACUUM (ANALYZE) ${String(name)}`)
    await session.run('CHECKPOINT')
  } finally {
    release()
  }
}
