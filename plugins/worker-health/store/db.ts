import { randomUUID } from 'node:crypto'
import { type Database, deleteBefore } from 'zin/plugins/database'
import type { HealthSample } from '../outcome.js'
import type { HistoryStore } from './contract.js'

interface SampleRow {
  readonly id: string
  readonly worker: string
  readonly node: string
  readonly at: number
  readonly healthy: number
  readonly score: number
  readonly duration_ms: number
  readonly error: string | null
}

const table = 'zin_worker_health'
/** Length of the column; a longer error is truncated. */
const longestError = 1000

/** History in a table, shared by all nodes of the app. */
export function databaseHistory(database: Database): HistoryStore {
  const tables = () => database.tables<Record<typeof table, SampleRow>>()
  return {
    shared: true,
    async add({ worker, node, at, healthy, score, durationMs, error }) {
      const row: SampleRow = {
        id: randomUUID(),
        worker,
        node,
        at,
        healthy: healthy ? 1 : 0,
        score,
        duration_ms: durationMs,
        error: error?.slice(0, longestError) ?? null,
      }
      await tables().insertInto(table).values(row).execute()
    },
    async read(worker, since, limit) {
      const rows = await tables()
        .selectFrom(table)
        .selectAll()
        .where('worker', '=', worker)
        .where('at', '>=', since)
        .orderBy('at', 'desc')
        .orderBy('id')
        .limit(limit)
        .execute()
      return rows.map(sampleOf)
    },
    async prune(before) {
      await deleteBefore(tables(), { table, key: ['id'], column: 'at', before })
    },
  }
}

/** Drivers return numbers as number, text or bigint. */
function sampleOf(row: SampleRow): HealthSample {
  return {
    worker: row.worker,
    node: row.node,
    at: Number(row.at),
    healthy: Number(row.healthy) === 1,
    score: Number(row.score),
    durationMs: Number(row.duration_ms),
    error: row.error,
  }
}
