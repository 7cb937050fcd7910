import { mostLogBytes, mostLogLines, type QueueBackend } from '../backend.js'
import type { PglitePool } from '../embedded/pool.js'

/** $1 queue, $2 job, $3 line. The lines to drop are found by the index: a join with the added one would read the whole log. */
const add = `
  with added as (
    insert into job_log (queue, job_id, idx, row)
    values ($1, $2, coalesce((select max(idx) + 1 from job_log where queue = $1 and job_id = $2), 0), $3) returning idx
  ),
  dropped as (delete from job_log where queue = $1 and job_id = $2 and idx <= (select idx - ${mostLogLines} from added))
  select idx, greatest(idx - ${mostLogLines - 1}, coalesce((select min(idx) from job_log where queue = $1 and job_id = $2), idx)) as first from added`

/** Reads the whole log, so it runs after every hundredth line, and after a long one. */
const dropBytes = `
  delete from job_log where queue = $1 and job_id = $2 and idx <= (
    select max(idx) from (
      select idx, sum(octet_length(row)) over (order by idx desc) as upto, max(idx) over () as last
      from job_log where queue = $1 and job_id = $2
    ) sized where upto > ${mostLogBytes} and idx < last
  )`
const linesPerCheck = 100

/** $1 queue, $2 job, $3 number of the first line, negative from the end, $4 number of lines. */
const read = `
  with log as (select count(*) as count, coalesce(min(idx), 0) as dropped from job_log where queue = $1 and job_id = $2),
  page as (select count, dropped, greatest(dropped, case when $3::bigint < 0 then dropped + count + $3::bigint else $3::bigint end) as first from log)
  select count, dropped, first, array(
    select row from job_log where queue = $1 and job_id = $2 and idx >= first and idx < first + $4::bigint order by idx) as lines
  from page`

const isMissingJob = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '23503'

/** Appends to and reads the logs of jobs in the embedded store, which numbers the lines of a job. */
export function embeddedLogs(pool: PglitePool): Pick<QueueBackend, 'addLog' | 'readLogs'> {
  return {
    async addLog({ id, queueName }, line) {
      try {
        const { rows } = await pool.query<{ idx: string; first: string }>(add, [queueName, id, line])
        const at = Number(rows[0]?.idx)
        if (at % linesPerCheck === linesPerCheck - 1 || line.length > mostLogBytes / linesPerCheck)
          await pool.query(dropBytes, [queueName, id])
        return at - Number(rows[0]?.first) + 1
      } catch (error) {
        if (isMissingJob(error)) return undefined
        throw error
      }
    },
    async readLogs({ id, queueName }, { limit, offset }) {
      const { rows } = await pool.query<{ count: string; dropped: string; first: string; lines: string[] }>(read, [
        queueName,
        id,
        offset,
        limit,
      ])
      const { count = 0, dropped = 0, first = 0, lines = [] } = rows[0] ?? {}
      return { count: Number(count), dropped: Number(dropped), offset: Number(first), lines }
    },
  }
}
