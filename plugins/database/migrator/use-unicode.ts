import type { Kysely } from 'kysely'

/**
 * Converts tables to UTF-8 text that is compared by bytes, whatever the default of the database is: ids that differ in case or
 * accents stay distinct. For migrations: after `createTable`, and for existing tables. Can be repeated; does nothing on SQLite.
 */
// biome-ignore lint/suspicious/noExplicitAny: a migration names its own tables
export async function useUnicode(db: Kysely<any>, ...tables: readonly [string, ...string[]]): Promise<void> {
  const { MysqlAdapter, sql } = await import('kysely')
  if (!(db.getExecutor().adapter instanceof MysqlAdapter)) return
  const { rows } = await sql<{ name: string }>`
    select distinct table_name as name from information_schema.columns
    where table_schema = database() and table_name in (${sql.join(tables)}) and collation_name <> 'utf8mb4_bin'`.execute(db)
  for (const { name } of rows) {
    await sql`alter table ${sql.table(name)} convert to character set utf8mb4 collate utf8mb4_bin`.execute(db)
  }
}
