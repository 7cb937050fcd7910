import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import { useUnicode } from 'zin/plugins/database'

/** Converts a workers table that was created with the character set of the database. */
export function unicodeWorkersMigration(table: string): Migration<Kysely<unknown>> {
  return { id: `0003_use_unicode_in_${table}`, up: (db) => useUnicode(db, table), down: () => Promise.resolve() }
}
