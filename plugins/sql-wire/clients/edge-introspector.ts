import type { ColumnMetadata, DatabaseIntrospector, DatabaseMetadata, DatabaseMetadataOptions, TableMetadata } from 'kysely'
import type { SqlClient } from './contract.js'

interface ColumnRow {
  readonly table: string
  readonly kind: string
  readonly sql: string
  readonly name: string
  readonly type: string
  readonly required: number
  readonly default: unknown
  readonly key: number
}

/** Name prefixes of tables of SQLite, D1 and the proxy; D1 denies access to its own. */
const hidden = ['sqlite_', '_cf_', 'zin_edge_']
/** Migration tables of Kysely. */
const ofKysely: ReadonlySet<string> = new Set(['kysely_migration', 'kysely_migration_lock'])

const columnsSql = `select t.name as "table", t.type as kind, t.sql as sql, c.name as name, c.type as type, c."notnull" as required,
  c.dflt_value as "default", c.pk as key
  from (select * from sqlite_master where type in ('table', 'view') and ${hidden.map(() => 'substr(name, 1, length(?)) <> ?').join(' and ')}) as t
  join pragma_table_info(t.name) as c order by t.name, c.cid`

/** Introspects tables and columns of a database behind the edge proxy. */
export function edgeIntrospector(client: SqlClient): DatabaseIntrospector {
  const getTables = async ({ withInternalKyselyTables = false }: Partial<DatabaseMetadataOptions> = {}): Promise<TableMetadata[]> => {
    const names = hidden.flatMap((name) => [name, name])
    const { rows } = await client.query<ColumnRow>(columnsSql, names)
    const tables = new Map<string, ColumnRow[]>()
    for (const row of rows) {
      if (!withInternalKyselyTables && ofKysely.has(row.table)) continue
      const known = tables.get(row.table)
      if (known === undefined) tables.set(row.table, [row])
      else known.push(row)
    }
    return [...tables].map(([name, columns]) => ({
      name,
      isView: columns[0]?.kind === 'view',
      columns: columns.map((row) => columnOf(row, columns)),
    }))
  }
  return {
    getSchemas: async () => [],
    getTables,
    getMetadata: async (options): Promise<DatabaseMetadata> => ({ tables: await getTables(options) }),
  }
}

function columnOf({ name, type, required, default: given, key }: ColumnRow, all: readonly ColumnRow[]): ColumnMetadata {
  // An INTEGER PRIMARY KEY is the row id, which SQLite increments.
  const isRowId = Number(key) > 0 && type.toLowerCase() === 'integer' && all.filter((column) => Number(column.key) > 0).length === 1
  return { name, dataType: type, isNullable: Number(required) === 0, isAutoIncrementing: isRowId, hasDefaultValue: given !== null }
}
