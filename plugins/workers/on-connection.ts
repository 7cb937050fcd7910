import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import type { Database } from 'zin/plugins/database'

/** Migrations that run on another connection than `default`; they are recorded as applied on `default`. */
export function onConnection(
  database: Database,
  connection: string,
  migrations: readonly Migration<Kysely<unknown>>[],
): readonly Migration<Kysely<unknown>>[] {
  if (connection === 'default') return migrations
  return migrations.map(({ id, up, down }) => ({
    id: `${id}_on_${connection}`,
    up: () => up(database.tables(connection)),
    down: () => down(database.tables(connection)),
  }))
}
