import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import { type Database, inList } from 'zin/plugins/database'
import { createWorkersTable, workersMigration } from '../migrations/0001-create-workers.js'
import { unicodeWorkersMigration } from '../migrations/0003-use-unicode.js'
import { onConnection } from '../on-connection.js'
import type { PageQuery, WorkerStore } from './contract.js'
import { emptyPage, namesOf } from './page.js'
import { rowOf, type WorkerRow, workerOf } from './row.js'

export interface DbPlace {
  /** Name of a connection of the plugin database. */
  readonly connection: string
  readonly table: string
  /** Whether a migration creates the table; otherwise `prepare` does. */
  readonly migrated: boolean
}

type Tables = Record<string, WorkerRow>
type PageRow = { readonly total: number } & (WorkerRow | { readonly name: null })

/** Opens a store in a SQL table, shared by all processes of the app. */
export function dbStore(database: Database, { connection, table, migrated }: DbPlace): WorkerStore {
  const tables = () => database.tables<Tables>(connection)
  return {
    driver: 'db',
    place: { connection, table },
    shared: true,
    migrations: migrated
      ? onConnection(database, connection, [workersMigration(table, () => database.dialectOf(connection)), unicodeWorkersMigration(table)])
      : [],
    async exists() {
      try {
        await tables().selectFrom(table).select(['name', 'id', 'generation', 'record']).limit(1).execute()
        return true
      } catch (error) {
        if (database.isUnavailable(error)) throw error
        return false
      }
    },
    async prepare() {
      if (!migrated) await createWorkersTable(database.tables(connection), table, database.dialectOf(connection))
    },
    insert(worker) {
      return database.insertIfAbsent(table, ['name'], { ...rowOf(worker) }, connection)
    },
    async get(name) {
      const row = await tables().selectFrom(table).selectAll().where('name', '=', name).executeTakeFirst()
      return row === undefined ? undefined : workerOf(row)
    },
    async page(query) {
      const names = namesOf(query)
      if (names?.length === 0) return emptyPage
      const { without } = query
      const listed = names ?? (without !== undefined && without.size > 0 ? [...without] : undefined)
      const where = conditionOf(query, listed && (await inList(tables(), 'name', listed)), names !== undefined)
      // A page after the last one has no rows, but a total: hence a join rather than a window function.
      const rows = await database
        .tables(connection)
        .selectFrom((eb) =>
          eb
            .selectFrom(table)
            .select((counted) => counted.fn.countAll().as('total'))
            .where(where)
            .as('counted'),
        )
        .leftJoin(
          (eb) => eb.selectFrom(table).selectAll().where(where).orderBy('name').limit(query.limit).offset(query.offset).as('page'),
          (join) => join.onTrue(),
        )
        .select('counted.total')
        .selectAll('page')
        .orderBy('page.name')
        .$castTo<PageRow>()
        .execute()
      return { workers: rows.filter(isWorker).map(workerOf), total: Number(rows[0]?.total ?? 0) }
    },
    async all() {
      const rows = await tables().selectFrom(table).selectAll().orderBy('name').execute()
      return rows.map(workerOf)
    },
    async replace(worker) {
      const { name, id, created_at: _, ...changes } = rowOf(worker)
      const result = await tables()
        .updateTable(table)
        .set(changes)
        .where('name', '=', name)
        .where('id', '=', id)
        .where('generation', '=', worker.generation - 1)
        .executeTakeFirst()
      return result.numUpdatedRows > 0n
    },
    async remove(worker) {
      const result = await tables().deleteFrom(table).where('name', '=', worker.record.name).where('id', '=', worker.id).executeTakeFirst()
      return result.numDeletedRows > 0n
    },
  }
}

function isWorker(row: PageRow): row is PageRow & WorkerRow {
  return row.name !== null
}

function conditionOf({ inactive }: PageQuery, listed: Expression<SqlBool> | undefined, wanted: boolean) {
  return (eb: ExpressionBuilder<Tables, string>): Expression<SqlBool> =>
    eb.and([...(inactive ? [] : [eb('active', '=', 1)]), ...(listed === undefined ? [] : [wanted ? listed : eb.not(listed)])])
}
