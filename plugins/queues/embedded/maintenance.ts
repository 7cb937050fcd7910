import { removeOrphans } from './orphans.js'
import type { PgliteSession } from './session.js'

/**
 * Does the background work of a PostgreSQL server, which PGlite lacks: removes dead rows, refreshes the planner statistics and truncates the
 * log. Without it, the data would grow without bound. Takes 10 to 60 ms with few jobs. Does nothing while space is short. Throws the first
 * error of the store.
 */
export async function maintain(session: PgliteSession): Promise<void> {
  // The session is released in between, because each step blocks the process.
  const step = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    const release = await session.acquire()
    try {
      return session.closed || session.lacksSpace ? undefined : await work()
    } finally {
      release()
    }
  }
  for (const table of (await step(() => tables(session))) ?? []) {
    for (const what of ['VACUUM', 'ANALYZE']) await step(() => run(session, `${what} ${table}`))
  }
  await step(() => run(session, 'CHECKPOINT'))
}

/** Segments of the log that a checkpoint of an earlier version has kept for reuse. */
const keptSegments = `select count(*) as n from pg_ls_waldir()
  where name ~ '^[0-9A-F]{24}$' and name > pg_walfile_name(pg_current_wal_lsn())`
/** More than PostgreSQL keeps by default. */
const mostKept = 128

/**
 * Rewrites every table of the queue into new files and drops the log up to now. Removed rows would otherwise stay readable in free space
 * of the tables, in the planner statistics, in segments of the log that are kept for reuse, and in files that a killed process left in the
 * data directory `dir`.
 */
export async function scrub(session: PgliteSession, dir: string): Promise<void> {
  const release = await session.acquire()
  try {
    if (session.closed) return
    // Those of an index that no row is left in would stay.
    await run(session, 'DELETE FROM pg_catalog.pg_statistic')
    for (const table of await tables(session)) await run(session, `VACUUM (FULL, ANALYZE) ${table}`)
    await run(session, 'VACUUM (FULL) pg_catalog.pg_statistic')
    // The first checkpoint makes the segments before the switch unnecessary, the second one removes them, and further ones use up those
    // that are kept for reuse.
    for (let [done, wasKept, kept] = [0, 1, 1]; done < 2 || (wasKept > 0 && done < mostKept); done++) {
      // The current one may be the last of those that were kept.
      wasKept = kept
      await run(session, 'SELECT pg_switch_wal()')
      await run(session, 'CHECKPOINT')
      const { error, result } = await session.run(keptSegments)
      if (error) throw error
      kept = Number(result.rows[0]?.n)
    }
    await removeOrphans(session, dir)
  } finally {
    release()
  }
}

async function run(session: PgliteSession, statement: string): Promise<void> {
  const { error } = await session.run(statement)
  if (error) throw error
}

async function tables(session: PgliteSession): Promise<readonly string[]> {
  const { result } = await session.run("select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'bullmq'")
  return result.rows.map(({ name }) => String(name))
}
