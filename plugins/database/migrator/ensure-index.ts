import type { Kysely } from 'kysely'

export interface Index {
  readonly name: string
  readonly table: string
  readonly columns: readonly string[]
}

/** Creates an index unless the table has one with that name. For migrations: MySQL has no `create index if not exists`. */
// biome-ignore lint/suspicious/noExplicitAny: a migration names its own tables
export async function ensureIndex(db: Kysely<any>, { name, table, columns }: Index): Promise<void> {
  const { MysqlAdapter, sql } = await import('kysely')
  const create = db.schema
    .createIndex(name)
    .on(table)
    .columns([...columns])
  if (!(db.getExecutor().adapter instanceof MysqlAdapter)) return create.ifNotExists().execute()
  const { rows } = await sql`
    select 1 from information_schema.statistics
    where table_schema = database() and table_name = ${table} and index_name = ${name} limit 1`.execute(db)
  if (rows.length === 0) await create.execute()
}
