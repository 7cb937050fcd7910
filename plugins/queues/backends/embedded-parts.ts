import { mostLogLines, type QueueBackend, type StoredParts } from '../backend.js'
import type { PglitePool } from '../embedded/pool.js'

const partNames = ['data', 'result', 'progress', 'error', 'stacks'] as const satisfies readonly (keyof StoredParts)[]

const readJob = (table: string): string => `select data::text as data, return_value::text as result, progress::text as progress,
    failed_reason as error, stacktrace::text as stacks from ${table} where queue = $1 and id = $2`

const reads = {
  job: readJob('job'),
  deleted: readJob('zin_deleted_job'),
  schedule: 'select template_data::text as data from scheduler where queue = $1 and scheduler_id = $2',
} as const

const readLogs = {
  job: 'select row from job_log where queue = $1 and job_id = $2 order by idx limit $3',
  deleted: `select l.row from zin_deleted_job z, jsonb_array_elements_text(z.logs) with ordinality as l(row, n)
    where z.queue = $1 and z.id = $2 order by l.n limit $3`,
} as const

const writeJob = (table: string): string => `update ${table}
  set data = $4::jsonb, return_value = $6::jsonb, progress = $8::jsonb, failed_reason = $10, stacktrace = $12::jsonb
  where queue = $1 and id = $2 and state <> 'active' and data::text is not distinct from $3
    and return_value::text is not distinct from $5 and progress::text is not distinct from $7
    and failed_reason is not distinct from $9 and stacktrace::text is not distinct from $11`

const writes = {
  job: writeJob('job'),
  deleted: writeJob('zin_deleted_job'),
  schedule: `update scheduler set template_data = $4::jsonb
    where queue = $1 and scheduler_id = $2 and template_data::text is not distinct from $3`,
} as const

/** Reads and replaces the parts of a job in the embedded store. */
export function embeddedParts(pool: PglitePool): Pick<QueueBackend, 'readParts' | 'writeParts'> {
  return {
    async readParts({ id, kind, queue }) {
      const { rows } = await pool.query<Record<string, string | null>>(reads[kind], [queue.name, id])
      const [row] = rows
      if (row === undefined) return undefined
      const parts = Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
      if (kind === 'schedule') return { ...parts, logs: [] }
      const { rows: lines } = await pool.query<{ row: string }>(readLogs[kind], [queue.name, id, mostLogLines])
      return { ...parts, logs: lines.map((line) => line.row) }
    },
    async writeParts({ id, kind, queue }, before, after) {
      const values = partNames.flatMap((name) => [before[name] ?? null, after[name] ?? before[name] ?? null])
      const used = kind === 'schedule' ? values.slice(0, 2) : values
      const { rowCount } = await pool.query(writes[kind], [queue.name, id, ...used])
      if (rowCount !== 1) return false
      if (kind === 'deleted') {
        // Lines beyond those that were read stay unchanged.
        await pool.query(
          `update zin_deleted_job set logs = $3::jsonb || coalesce(jsonb_path_query_array(logs, '$[$from to last]', $4::jsonb), '[]')
           where queue = $1 and id = $2 and logs is not null`,
          [queue.name, id, JSON.stringify(after.logs), JSON.stringify({ from: after.logs.length })],
        )
        return true
      }
      for (const [i, line] of before.logs.entries()) {
        if (after.logs[i] === line) continue
        // An equal line may be rewritten in its place: the result is the same.
        await pool.query(
          `update job_log set row = $4 where queue = $1 and job_id = $2
           and idx = (select min(idx) from job_log where queue = $1 and job_id = $2 and row = $3)`,
          [queue.name, id, line, after.logs[i] ?? line],
        )
      }
      return true
    },
  }
}
