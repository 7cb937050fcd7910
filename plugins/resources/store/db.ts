import { type Database, deleteBefore, upsertRows } from 'zin/plugins/database'
import type { ResourceSnapshot } from '../snapshot.js'
import { type Resolution, type ResourceStore, retentionMs } from './contract.js'

interface SnapshotRow {
  readonly node: string
  readonly resolution: Resolution
  readonly at: number
  readonly expires_at: number
  readonly data: string
}

const table = 'zin_resources'
const key = ['node', 'resolution', 'at']

/** Stores the history of all nodes in a table. */
export function databaseStore(database: Database): ResourceStore {
  const tables = () => database.tables<Record<typeof table, SnapshotRow>>()
  return {
    add: (snapshot, coarse) =>
      upsertRows(tables(), { table, key, rows: [rowOf(snapshot, 'fine'), rowOf(coarse, 'coarse')], existing: 'replace' }),
    async read({ limit, node, resolution, since }) {
      const all = tables()
        .selectFrom(table)
        .select(['node', 'at', 'data'])
        .where('resolution', '=', resolution)
        .where('at', '>=', Math.round(since))
        .orderBy('at', 'desc')
        .orderBy('node')
        .limit(limit)
      const rows = await (node === undefined ? all : all.where('node', '=', node)).execute()
      return rows.map((row) => ({ ...(JSON.parse(row.data) as ResourceSnapshot), node: row.node, at: Number(row.at) }))
    },
    async prune(now) {
      await deleteBefore(tables(), { table, key, column: 'expires_at', before: now })
    },
  }
}

function rowOf({ node, at, ...data }: ResourceSnapshot, resolution: Resolution) {
  return {
    node,
    resolution,
    at: Math.round(at),
    expires_at: Math.round(at + retentionMs[resolution]),
    data: JSON.stringify(data),
  } satisfies SnapshotRow
}
