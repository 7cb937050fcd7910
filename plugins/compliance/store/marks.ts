import { type Database, upsertRows } from 'zin/plugins/database'

/** Small persistent values, such as the progress of a background task. */
export interface Marks {
  get(name: string): Promise<string | undefined>
  set(name: string, value: string): Promise<void>
  /** Returns all marks whose names begin with the prefix. */
  list(prefix: string): Promise<readonly MarkRow[]>
  /** Deletes all marks whose names begin with the prefix. */
  deleteAll(prefix: string): Promise<void>
}

export interface MarkRow {
  readonly name: string
  readonly value: string
}

const table = 'zin_compliance_marks'

export function databaseMarks(database: Database): Marks {
  const tables = () => database.tables<Record<typeof table, MarkRow>>()
  return {
    async get(name) {
      const row = await tables().selectFrom(table).select('value').where('name', '=', name).executeTakeFirst()
      return row?.value
    },
    set: (name, value) => upsertRows(tables(), { table, key: ['name'], rows: [{ name, value }], existing: 'replace' }),
    list: (prefix) => tables().selectFrom(table).selectAll().where('name', 'like', `${prefix}%`).execute(),
    async deleteAll(prefix) {
      await tables().deleteFrom(table).where('name', 'like', `${prefix}%`).execute()
    },
  }
}
