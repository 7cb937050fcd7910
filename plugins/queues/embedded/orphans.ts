import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PgliteSession } from './session.js'

/**
 * Files in which a PostgreSQL that was killed had begun a table, an index or a temporary table, and what it had sorted outside its memory.
 * A number is in use if any relation of the database has it. None is deleted if that of a relation is not known. Reads pg_class by position,
 * because an index of it may be damaged.
 */
const orphans = `
  with used as (
    select relkind, coalesce(nullif(relfilenode, 0), pg_relation_filenode(oid))::text as number from pg_class where ctid >= '(0,0)')
  select 'base/' || d.oid || '/' || name as file from pg_database d, pg_ls_dir('base/' || d.oid) name
  where d.datname = current_database() and name ~ '^(t[0-9]+_)?[1-9][0-9]*(_(fsm|vm|init))?([.][0-9]+)?$'
    and substring(name from '^(?:t[0-9]+_)?([0-9]+)') not in (select number from used where number is not null)
    and not exists (select from used where number is null and relkind in ('r', 'i', 'S', 't', 'm'))
  union all
  select 'base/pgsql_tmp/' || name from pg_ls_dir('base/pgsql_tmp', true, false) name where name ~ '^pgsql_tmp[0-9]'`

/** Where the control file has the state of the cluster, and the value of one that was shut down: `DBState` in pg_control.h. */
const [stateAt, shutDown] = [16, 1]

/**
 * Deletes the files in the data directory `dir` that a killed PostgreSQL left: PostgreSQL itself never does, and they hold the rows of that
 * moment. The caller holds the session, outside a transaction and after a checkpoint, which deletes the files of dropped tables. Throws the
 * error of the store or of the file system.
 */
export async function removeOrphans(session: PgliteSession, dir: string): Promise<void> {
  const { error, result } = await session.run(orphans)
  if (error) throw error
  // A process that has taken over the data may have created some of them.
  await session.confirm()
  for (const { file } of result.rows) await rm(join(dir, String(file)), { recursive: true, force: true })
}

/** Whether PostgreSQL did not close the data in `dir`, for example because it was killed. False if there is no data yet. */
export async function isUnclean(dir: string): Promise<boolean> {
  const control = await readFile(join(dir, 'global', 'pg_control')).catch(() => undefined)
  return control !== undefined && control.length >= stateAt + 4 && control.readUInt32LE(stateAt) !== shutDown
}
