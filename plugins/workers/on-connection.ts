import type { Kysely } from 'kysely'
import type { Migration } from 'zin'
import type { Database } from 'zin/plugins/database'

/** Migrations that act on another connection than `default`, which is where they are noted as applied. */
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
