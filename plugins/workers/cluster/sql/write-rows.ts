import type { Kysely } from 'kysely'
import type { ClusterTables } from './tables.js'

type Row = Readonly<Record<string, unknown>>

export interface WriteRows {
  readonly mysql: boolean
  readonly table: keyof ClusterTables
  readonly key: readonly string[]
  readonly rows: readonly Row[]
  /** What a row that exists gets: the new values, or the sums. */
  readonly existing: 'replace' | 'add'
}

/** One statement: inserts rows of the same columns, or changes the columns outside of the key where the key exists. */
export async function writeRows(tables: Kysely<ClusterTables>, { mysql, table, key, rows, existing }: WriteRows): Promise<void> {
  const changed = Object.keys(rows[0] ?? {}).filter((column) => !key.includes(column))
  // The columns come with the rows, so the types of the tables do not help here.
  const insert = (tables as unknown as Kysely<Record<string, Row>>).insertInto(table).values([...rows])
  await (mysql
    ? insert.onDuplicateKeyUpdate((eb) =>
        Object.fromEntries(
          changed.map((column) => {
            const value = eb.fn<number>('values', [eb.ref(column)])
            return [column, existing === 'add' ? eb(eb.ref(column), '+', value) : value]
          }),
        ),
      )
    : insert.onConflict((conflict) =>
        conflict.columns([...key]).doUpdateSet((eb) =>
          Object.fromEntries(
            changed.map((column) => {
              const value = eb.ref(`excluded.${column}`)
              return [column, existing === 'add' ? eb(eb.ref(`${table}.${column}`), '+', value) : value]
            }),
          ),
        ),
      )
  ).execute()
}
