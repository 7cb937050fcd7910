import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import { useUnicode } from 'zin/plugins/database'
import { tableNames } from '../cluster/sql/tables.js'

/** For the tables that `createClusterTables` makes. */
export async function useUnicodeInCluster(db: Kysely<unknown>, prefix: string): Promise<void> {
  const { nodes, ...others } = tableNames(prefix)
  await useUnicode(db, nodes, ...Object.values(others))
}

/** For cluster tables created with the character set of the database. */
export function unicodeClusterMigration(prefix: string): Migration<Kysely<unknown>> {
  return { id: `0003_use_unicode_in_${prefix}_cluster`, up: (db) => useUnicodeInCluster(db, prefix), down: () => Promise.resolve() }
}

/** For a workers table created with the character set of the database. */
export function unicodeWorkersMigration(table: string): Migration<Kysely<unknown>> {
  return { id: `0003_use_unicode_in_${table}`, up: (db) => useUnicode(db, table), down: () => Promise.resolve() }
}
