import type { PglitePool } from '../embedded/pool.js'
import type { ScheduleBackend } from './contract.js'
import { policyKey } from './timing.js'

/** Whether a row of jobs is a run that has not begun. One that only waited for another has not. */
export const hasNotBegun = (row: string): string => `(${row}.attempts_made = 0 and ${row}.stalled_count = 0)`

/** Whether a row of jobs is the next run of its schedule. */
export const isPlanned = (
  row: string,
): string => `(${row}.scheduler_id is not null and ${row}.state not in ('completed', 'failed') and ${hasNotBegun(row)} and exists (
  select 1 from scheduler s where s.queue = ${row}.queue and s.scheduler_id = ${row}.scheduler_id
    and ${row}.id = 'repeat:' || s.scheduler_id || ':' || s.next_run_ms))`

const drop = `with gone as (delete from job where queue = $1 and id = $2 and state = 'active' and lock_token = $3 returning id)
  select publish_event($1, 'removed', jsonb_build_object('jobId', id, 'prev', 'active')) from gone`

/** BullMQ removes only a delayed run, also one that waits for a retry. */
const remove = `with gone as (delete from scheduler where queue = $1 and scheduler_id = $2 returning queue, scheduler_id, next_run_ms),
  run as (
    delete from job j using gone g where j.queue = g.queue and j.id = 'repeat:' || g.scheduler_id || ':' || g.next_run_ms
      and j.state in ('waiting', 'delayed') and ${hasNotBegun('j')} returning j.id, j.state
  ),
  told as (select publish_event($1, 'removed', jsonb_build_object('jobId', id, 'prev', state)) as event from run)
  select (select count(*) from gone) as removed, (select count(event) from told) as runs`

const hold = `with held as (
    insert into dedup (queue, dedup_id, job_id, expire_at_ms) values ($1, $2, $3, $4::bigint)
    on conflict (queue, dedup_id) do update set job_id = excluded.job_id, expire_at_ms = excluded.expire_at_ms
      where dedup.job_id = excluded.job_id or dedup.expire_at_ms <= $5::bigint
        or (dedup.expire_at_ms is null and not exists (select 1 from job j where j.queue = dedup.queue and j.id = dedup.job_id))
    returning job_id
  ),
  marked as (update job set dedup_id = $2 where queue = $1 and id = $3 and exists (select 1 from held))
  select job_id as holder from dedup where queue = $1 and dedup_id = $2 and not exists (select 1 from held)`

/**
 * $1 queue, $2 position, $3 limit, $4 when a run is overdue, $5 now. The last run is the next one if that has ended, else the one that it
 * follows.
 */
const faults = `with page as materialized (
    select scheduler_id as key, next_run_ms as next, limit_count, iteration_count, end_date_ms from scheduler where queue = $1
    order by next_run_ms, scheduler_id offset $2 limit $3
  )
  select page.key, page.next, last.id, last.finished_at_ms as at,
    page.next <= $4::bigint and not (coalesce(page.iteration_count >= page.limit_count, false)
      or coalesce(page.end_date_ms <= $5::bigint, false)) as overdue,
    (select count(*) from scheduler where queue = $1) as total
  from page left join job run on run.queue = $1 and run.id = 'repeat:' || page.key || ':' || page.next
    left join job last on last.queue = $1 and last.state = 'failed'
      and last.id = case when run.state = 'failed' then run.id else run.opts #>> '{${policyKey},follows}' end`

interface FaultRow {
  readonly key: string
  readonly next: string
  readonly id: string | null
  readonly at: string | null
  readonly overdue: boolean
  readonly total: string
}

export function embeddedSchedules(pool: PglitePool): ScheduleBackend {
  return {
    async drop(queue, id, token) {
      const { rows } = await pool.query(drop, [queue, id, token])
      return rows.length > 0
    },
    async remove(queue, id) {
      const { rows } = await pool.query<{ removed: string }>(remove, [queue, id])
      return Number(rows[0]?.removed ?? 0) > 0
    },
    async holdDeduplication(queue, id, { id: name, ttl }) {
      const now = Date.now()
      const { rows } = await pool.query<{ holder: string }>(hold, [queue, name, id, ttl === undefined ? null : now + ttl, now])
      return rows[0]?.holder
    },
    lockLeft: async () => undefined,
    async faults(queue, page) {
      const { rows } = await pool.query<FaultRow>(faults, [queue, page.from, page.limit, page.overdue, page.now])
      return {
        overdue: rows.flatMap(({ key, next, overdue }) => (overdue ? [{ key, next: Number(next) }] : [])),
        failed: rows.flatMap(({ at, id, key }) => (id === null ? [] : [{ key, id, at: Number(at) }])),
        total: Number(rows[0]?.total ?? 0),
      }
    },
  }
}
