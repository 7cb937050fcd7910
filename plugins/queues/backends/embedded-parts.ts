import { mostLogLines, type QueueBackend, type StoredParts } from '../backend.js'
import type { PglitePool } from '../embedded/pool.js'

const partNames = ['data', 'result', 'progress', 'error', 'stacks'] as const satisfies readonly (keyof StoredParts)[]

const parts = `data::text as data, return_value::text as result, progress::text as progress, failed_reason as error,
    stacktrace::text as stacks`

const reads = {
  job: `select ${parts}, array(select row from job_log where queue = $1 and job_id = $2 order by idx limit ${mostLogLines}) as logs
    from job where queue = $1 and id = $2`,
  deleted: `select ${parts}, array(select l.row from jsonb_array_elements_text(logs) with ordinality as l(row, n)
      order by l.n limit ${mostLogLines}) as logs
    from zin_deleted_job where queue = $1 and id = $2`,
  schedule: `select template_data::text as data, '{}'::text[] as logs from scheduler where queue = $1 and scheduler_id = $2`,
} as const

const assignments = 'data = $4::jsonb, return_value = $6::jsonb, progress = $8::jsonb, failed_reason = $10, stacktrace = $12::jsonb'

const unchanged = `queue = $1 and id = $2 and state <> 'active' and data::text is not distinct from $3
    and return_value::text is not distinct from $5 and progress::text is not distinct from $7
    and failed_reason is not distinct from $9 and stacktrace::text is not distinct from $11`

/** One statement each, so that a crash cannot leave a job half written. $13 and $14: the log lines before and after. Further lines are kept. */
const writes = {
  job: `with lines as materialized (
      select stored.idx, given.after
      from (select idx, row, row_number() over (order by idx) as n from job_log where queue = $1 and job_id = $2) stored
        join unnest($13::text[], $14::text[]) with ordinality as given(before, after, n) on given.n = stored.n and given.before = stored.row
    ),
    written as (
      update job set ${assignments}
      where ${unchanged} and (select count(*) from lines) = cardinality($13::text[]) returning id
    ),
    logged as (
      update job_log l set row = lines.after from lines, written where l.queue = $1 and l.job_id = written.id and l.idx = lines.idx
    )
    select id from written`,
  deleted: `update zin_deleted_job
    set ${assignments}, logs = case when logs is not null then
      to_jsonb($14::text[]) || jsonb_path_query_array(logs, '$[$from to last]', jsonb_build_object('from', cardinality($14::text[]))) end
    where ${unchanged} and array(
      select l.row from jsonb_array_elements_text(logs) with ordinality as l(row, n) where l.n <= cardinality($13::text[]) order by l.n
    ) = $13::text[]`,
  schedule: `update scheduler set template_data = $4::jsonb
    where queue = $1 and scheduler_id = $2 and template_data::text is not distinct from $3`,
} as const

/** Reads and replaces the parts of a job in the embedded store. */
export function embeddedParts(pool: PglitePool): Pick<QueueBackend, 'readParts' | 'writeParts'> {
  return {
    async readParts({ id, kind, queue }) {
      const { rows } = await pool.query<Record<string, unknown> & Pick<StoredParts, 'logs'>>(reads[kind], [queue.name, id])
      const [row] = rows
      if (row === undefined) return undefined
      return { ...Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)), logs: row.logs }
    },
    async writeParts({ id, kind, queue }, before, after) {
      const values = partNames.flatMap((name) => [before[name] ?? null, after[name] ?? before[name] ?? null])
      const used = kind === 'schedule' ? values.slice(0, 2) : [...values, before.logs, before.logs.map((line, i) => after.logs[i] ?? line)]
      const { rowCount } = await pool.query(writes[kind], [queue.name, id, ...used])
      return (rowCount ?? 0) > 0
    },
  }
}
