import type { StoredWorker } from './contract.js'

/** A row of the workers table. Times are ms since 1970; drivers return bigint columns as number, string or bigint. */
export interface WorkerRow {
  name: string
  id: string
  /** 1 while `activeStatus` is true. */
  active: number
  /** JSON: record, versions, desired state and a halted rollout. */
  record: string
  generation: number
  created_at: number
  updated_at: number
}

export function rowOf({ id, generation, createdAt, updatedAt, ...content }: StoredWorker): WorkerRow {
  const { name, activeStatus } = content.record
  return {
    name,
    id,
    active: activeStatus ? 1 : 0,
    record: JSON.stringify(content),
    generation,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}

export function workerOf(row: WorkerRow): StoredWorker {
  return {
    id: row.id,
    ...(JSON.parse(row.record) as Pick<StoredWorker, 'record' | 'versions' | 'desired' | 'halted' | 'leftQueues' | 'declaredBy'>),
    generation: Number(row.generation),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}
