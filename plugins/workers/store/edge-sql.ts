import type { PageQuery, StorePage, WorkerStore } from './contract.js'
import { emptyPage, namesOf } from './page.js'
import { rowOf, type WorkerRow, workerOf } from './row.js'

/** A statement of an edge SQL database. */
export interface EdgeSqlStatement {
  bind(...values: unknown[]): EdgeSqlStatement
  all<Row>(): Promise<{ readonly results: readonly Row[] }>
  run(): Promise<{ readonly meta: { readonly changes?: number } }>
  first<Row>(): Promise<Row | null>
}

/** The part of a D1 binding that workers use: SQLite behind `prepare`. */
export interface EdgeSqlBinding {
  prepare(sql: string): EdgeSqlStatement
}

type PageRow = { readonly total: number } & (WorkerRow | { readonly name: null })

const columns = 'name, id, active, record, generation, created_at, updated_at'

/** Opens a store in an edge SQL database. Uses no Node.js APIs. Each method is one statement. */
export function edgeSqlStore(binding: EdgeSqlBinding, table: string): WorkerStore {
  const statement = (sql: string, ...values: readonly (string | number)[]): EdgeSqlStatement => {
    const prepared = binding.prepare(sql)
    return values.length === 0 ? prepared : prepared.bind(...values)
  }
  const changed = async (sql: string, ...values: readonly (string | number)[]): Promise<boolean> =>
    ((await statement(sql, ...values).run()).meta.changes ?? 0) > 0

  return {
    driver: 'edge-sql',
    place: { table },
    shared: true,
    async prepare() {
      await statement(
        `create table if not exists ${table} (name text primary key, id text not null, active integer not null, record text not null, generation integer not null, created_at integer not null, updated_at integer not null)`,
      ).run()
    },
    insert(worker) {
      const { name, id, active, record, generation, created_at, updated_at } = rowOf(worker)
      const sql = `insert into ${table} (${columns}) values (?, ?, ?, ?, ?, ?, ?) on conflict (name) do nothing`
      return changed(sql, name, id, active, record, generation, created_at, updated_at)
    },
    async get(name) {
      const row = await statement(`select ${columns} from ${table} where name = ?`, name).first<WorkerRow>()
      return row === null ? undefined : workerOf(row)
    },
    page: (query) => pageOf(statement, table, query),
    async all() {
      const { results } = await statement(`select ${columns} from ${table} order by name`).all<WorkerRow>()
      return results.map(workerOf)
    },
    replace(worker) {
      const { name, id, active, record, generation, updated_at } = rowOf(worker)
      const sql = `update ${table} set active = ?, record = ?, generation = ?, updated_at = ? where name = ? and id = ? and generation = ?`
      return changed(sql, active, record, generation, updated_at, name, id, generation - 1)
    },
    remove: (worker) => changed(`delete from ${table} where name = ? and id = ?`, worker.record.name, worker.id),
  }
}

async function pageOf(
  statement: (sql: string, ...values: readonly (string | number)[]) => EdgeSqlStatement,
  table: string,
  query: PageQuery,
): Promise<StorePage> {
  const only = namesOf(query)
  if (only?.length === 0) return emptyPage
  // All names in one parameter, because D1 allows a hundred per statement.
  const names = only ?? [...(query.without ?? [])]
  const listed = `name ${only === undefined ? 'not in' : 'in'} (select value from json_each(?1))`
  const where = query.inactive ? listed : `active = 1 and ${listed}`
  const sql = `select counted.total, page.* from (select count(*) as total from ${table} where ${where}) as counted
    left join (select ${columns} from ${table} where ${where} order by name limit ?2 offset ?3) as page on true order by page.name`
  const { results } = await statement(sql, JSON.stringify(names), query.limit, query.offset).all<PageRow>()
  return { workers: results.filter(isWorker).map(workerOf), total: results[0]?.total ?? 0 }
}

function isWorker(row: PageRow): row is PageRow & WorkerRow {
  return row.name !== null
}

/** Whether an error of the binding means that the database is temporarily unreachable. */
export function isEdgeSqlUnavailable(error: unknown): boolean {
  return error instanceof Error && /network connection lost|timed? ?out|overloaded|storage.*reset|cannot resolve/i.test(error.message)
}
