import type { PglitePool } from '../embedded/pool.js'
import type { ScheduleBackend } from './contract.js'

/** Whether a row of jobs is the next run of its schedule. */
export const isPlanned = (
  row: string,
): string => `(${row}.scheduler_id is not null and ${row}.state not in ('completed', 'failed') and exists (
  select 1 from scheduler s where s.queue = ${row}.queue and s.scheduler_id = ${row}.scheduler_id
    and ${row}.id = 'repeat:' || s.scheduler_id || ':' || s.next_run_ms))`

const drop = `with gone as (delete from job where queue = $1 and id = $2 and state = 'active' and lock_token = $3 returning id)
  select publish_event($1, 'removed', jsonb_build_object('jobId', id, 'prev', 'active')) from gone`

const hold = `with held as (
    insert into dedup (queue, dedup_id, job_id, expire_at_ms) values ($1, $2, $3, $4::bigint)
    on conflict (queue, dedup_id) do update set job_id = excluded.job_id, expire_at_ms = excluded.expire_at_ms
      where dedup.job_id = excluded.job_id or dedup.expire_at_ms <= $5::bigint
    returning job_id
  ),
  marked as (update job set dedup_id = $2 where queue = $1 and id = $3 and exists (select 1 from held))
  select job_id as holder from dedup where queue = $1 and dedup_id = $2 and not exists (select 1 from held)`

export function embeddedSchedules(pool: PglitePool): ScheduleBackend {
  return {
    async drop(queue, id, token) {
      const { rows } = await pool.query(drop, [queue, id, token])
      return rows.length > 0
    },
    async holdDeduplication(queue, id, { id: name, ttl }) {
      const now = Date.now()
      const { rows } = await pool.query<{ holder: string }>(hold, [queue, name, id, ttl === undefined ? null : now + ttl, now])
      return rows[0]?.holder
    },
  }
}
