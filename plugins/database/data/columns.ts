import type { Kysely } from 'kysely'

/** A column of a table, as an import checks it. */
export interface Column {
  readonly name: string
  /** In lower case, without its length: `varchar`. */
  readonly type: string
  /** Maximum length: characters of a text, bytes of a blob; undefined if there is none. */
  readonly length: number | undefined
  readonly unsigned: boolean
  /** Whether it can be null, or the database replaces null by a number. */
  readonly nullable: boolean
  /** Whether a row may leave it out. */
  readonly optional: boolean
}

export interface TableInfo {
  readonly name: string
  readonly columns: readonly Column[]
}

/** Tables that describe the database itself, and not the app. */
const own: ReadonlySet<string> = new Set(['zin_migrations', 'zin_migration_lock', 'zin_app'])

// biome-ignore lint/suspicious/noExplicitAny: all tables of the app
type Tables = Kysely<any>

/** Reads the tables of the app with their columns, in alphabetical order, without those that are covered. */
export async function readTables(db: Tables, mysql: boolean, covered: ReadonlySet<string>): Promise<readonly TableInfo[]> {
  const rows = mysql ? await mysqlColumns(db) : await sqliteColumns(db)
  const tables = new Map<string, Column[]>()
  for (const { table, ...column } of rows) {
    if (own.has(table) || covered.has(table)) continue
    const columns = tables.get(table) ?? []
    columns.push(column)
    tables.set(table, columns)
  }
  return [...tables].map(([name, columns]) => ({ name, columns })).sort((a, b) => (a.name < b.name ? -1 : 1))
}

type Found = Column & { readonly table: string }

async function mysqlColumns(db: Tables): Promise<readonly Found[]> {
  const { sql } = await import('kysely')
  const { rows } = await sql<{
    tbl: string
    name: string
    type: string
    full: string
    characters: number | null
    octets: number | null
    nullable: string
    preset: string | null
    extra: string
  }>`select c.table_name as tbl, c.column_name as name, c.data_type as type, c.column_type as full, c.character_maximum_length as characters,
      c.character_octet_length as octets, c.is_nullable as nullable, c.column_default as preset, c.extra as extra
    from information_schema.columns c
    join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
    where c.table_schema = database() order by c.table_name, c.ordinal_position`.execute(db)
  return rows.flatMap(({ characters, extra, full, name, nullable, octets, preset, tbl, type }): Found[] => {
    // A computed column.
    if (/\b(STORED|VIRTUAL|PERSISTENT)( GENERATED)?\b/i.test(extra)) return []
    const kind = type.toLowerCase()
    // The length of a type without one, such as text, is that of its bytes.
    const limit = kind === 'char' || kind === 'varchar' ? characters : octets
    return [
      {
        table: tbl,
        name,
        type: kind,
        length: limit === null ? undefined : Number(limit),
        unsigned: /\bunsigned\b/i.test(full),
        nullable: nullable === 'YES' || /auto_increment/i.test(extra),
        optional: nullable === 'YES' || preset !== null || /auto_increment/i.test(extra),
      },
    ]
  })
}

async function sqliteColumns(db: Tables): Promise<readonly Found[]> {
  const { sql } = await import('kysely')
  const { rows } = await sql<{ tbl: string; name: string; type: string; required: number; preset: string | null; pk: number }>`
    select m.name as tbl, c.name as name, c.type as type, c."notnull" as required, c.dflt_value as preset, c.pk as pk
    from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite\\_%' escape '\\'
    order by m.name, c.cid`.execute(db)
  const keys = new Map<string, number>()
  for (const { pk, tbl } of rows) if (pk > 0) keys.set(tbl, (keys.get(tbl) ?? 0) + 1)
  return rows.map(({ name, pk, preset, required, tbl, type }) => {
    const [, kind = '', length] = /^\s*([a-z0-9 ]*?)\s*(?:\(\s*(\d+).*)?$/i.exec(type.toLowerCase()) ?? []
    const isText = /char|text/.test(kind)
    const isKey = kind === 'integer' && pk > 0 && keys.get(tbl) === 1
    return {
      table: tbl,
      name,
      type: kind,
      length: isText && length !== undefined ? Number(length) : undefined,
      unsigned: /unsigned/.test(kind),
      nullable: (required === 0 && pk === 0) || isKey,
      optional: required === 0 || preset !== null || isKey,
    }
  })
}
