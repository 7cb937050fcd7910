import type { Database } from 'zin/plugins/database'
import type { WorkerRecord } from '../record/record.js'
import type { Desired, StoredWorker, WorkerStore } from './store.js'

/** One row of the workers table. Times are ms since 1970; drivers give bigint columns as number, text or bigint. */
export interface WorkerRow {
  name: string
  id: string
  record: string
  desired_state: Desired['state']
  desired_by: Desired['by']
  restarts: number
  generation: number
  created_at: number
  updated_at: number
}

/** Workers in a table, shared by all processes of the app. */
export function dbStore(database: Database, connection: string, table: string): WorkerStore {
  const tables = () => database.tables<Record<string, WorkerRow>>(connection)
  return {
    driver: 'db',
    place: { connection, table },
    shared: true,
    insert(worker) {
      return database.insertIfAbsent(table, { ...rowOf(worker) }, connection)
    },
    async get(name) {
      const row = await tables().selectFrom(table).selectAll().where('name', '=', name).executeTakeFirst()
      return row === undefined ? undefined : workerOf(row)
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

function rowOf(worker: StoredWorker): WorkerRow {
  return {
    name: worker.record.name,
    id: worker.id,
    record: JSON.stringify(worker.record),
    desired_state: worker.desired.state,
    desired_by: worker.desired.by,
    restarts: worker.desired.restarts,
    generation: worker.generation,
    created_at: worker.createdAt,
    updated_at: worker.updatedAt,
  }
}

function workerOf(row: WorkerRow): StoredWorker {
  return {
    id: row.id,
    record: JSON.parse(row.record) as WorkerRecord,
    desired: { state: row.desired_state, by: row.desired_by, restarts: Number(row.restarts) },
    generation: Number(row.generation),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}
