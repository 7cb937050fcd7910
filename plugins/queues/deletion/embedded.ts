import type { PglitePool } from '../embedded/pool.js'
import {
  type DeletedJob,
  type DeletedJobDetails,
  type DeleteOutcome,
  type DeletionBackend,
  erased,
  exactly,
  mostDeleted,
  stepJobs,
  type UndoOptions,
  type UndoRoom,
} from './contract.js'
import { countJobs, inRange, isErased, keeping, keptBytes, orders, rangeOf, tied } from './embedded-range.js'

/**
 * Moves the jobs selected by `picked` (queue, id, their ordinal n, bytes) to the deleted jobs, where each replaces an earlier one with its id,
 * or deletes them permanently if there is no room. The last four parameters are the batch, the expiry time, and the room in jobs and bytes.
 */
const moving = (picked: string, columns: string, first: number): string => `
  with recursive picked as materialized (${picked}),${keeping('picked', { jobs: `$${first + 2}::bigint`, bytes: `$${first + 3}::bigint` })},
  gone as (delete from job j using picked p where j.queue = p.queue and j.id = p.id returning j.*),
  freed as (
    delete from dedup d using gone g where d.queue = g.queue and d.dedup_id = g.dedup_id and d.job_id = g.id
    returning d.queue, d.job_id, d.expire_at_ms
  ),
  stored as (
    insert into zin_deleted_job (${columns}, batch, until_ms, bytes, logs, children, deduplicates, dedup_until_ms)
    select ${prefixed(columns, 'g')}, $${first}, $${first + 1}::bigint, k.bytes,
      (select jsonb_agg(l.row order by l.idx) from job_log l where l.queue = g.queue and l.job_id = g.id),
      (select jsonb_agg(to_jsonb(d)) from job_dependency d where d.parent_queue = g.queue and d.parent_id = g.id),
      f.job_id is not null, f.expire_at_ms
    from gone g join picked p on p.queue = g.queue and p.id = g.id join kept k on k.n = p.n
      left join freed f on f.queue = g.queue and f.job_id = g.id
    on conflict do nothing returning queue, id, batch, bytes
  ),
  replaced as (delete from zin_deleted_job z using stored s where z.queue = s.queue and z.id = s.id and z.batch <> s.batch)
  select (select count(*) from gone) as deleted, count(*) as restorable, coalesce(sum(bytes), 0) as bytes from stored`

const restoring = (columns: string): string => `
  with picked as materialized (
    select * from zin_deleted_job z where z.queue = $1 and z.batch = $2 and z.until_ms > $3::bigint and not ${isErased('z')}
      and not exists (select 1 from job j where j.queue = z.queue and j.id = z.id)
      and not (z.deduplicates and exists (
        select 1 from dedup d where d.queue = z.queue and d.dedup_id = z.dedup_id and (d.expire_at_ms is null or d.expire_at_ms > $3::bigint)))
    order by z.seq limit ${stepJobs}
  ),
  back as (insert into job (${columns}) select ${columns} from picked),
  logs as (
    insert into job_log (queue, job_id, idx, row)
    select p.queue, p.id, l.n - 1, l.row from picked p, jsonb_array_elements_text(p.logs) with ordinality as l(row, n)
  ),
  children as (
    insert into job_dependency
    select c.* from picked p, jsonb_populate_recordset(null::job_dependency, p.children) c on conflict do nothing
  ),
  deduplicated as (
    insert into dedup (queue, dedup_id, job_id, expire_at_ms)
    select queue, dedup_id, id, dedup_until_ms from picked where deduplicates
    on conflict (queue, dedup_id) do update set job_id = excluded.job_id, expire_at_ms = excluded.expire_at_ms
  ),
  gone as (delete from zin_deleted_job z using picked p where z.queue = p.queue and z.id = p.id and z.batch = p.batch)
  select id, state::text as state from picked order by seq`

const events = `
  select publish_event($1, case e.state when 'delayed' then 'delayed' else 'waiting' end,
    jsonb_build_object('jobId', e.id, 'prev', 'deleted')) from unnest($2::text[], $3::text[]) as e(id, state)`

/** The stored details of a deleted job; the driver returns 64-bit numbers as text. */
interface StoredDetails extends Pick<DeletedJobDetails, 'name' | 'data' | 'opts' | 'result' | 'progress' | 'error'> {
  readonly logs: readonly string[] | null
  readonly at: string
  readonly finishedAt: string | null
  readonly parent: string | null
}

/** Deletes and restores jobs by moving rows between the table of jobs and a separate table with the same columns. */
export function embeddedDeletion(pool: PglitePool): DeletionBackend {
  let opening: Promise<string> | undefined
  /** Creates the table on first use. Resolves to the columns of a job. */
  const opened = (): Promise<string> => {
    opening ??= open(pool).catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }
  const room = async (queue: string): Promise<UndoRoom> => {
    await opened()
    const { rows } = await pool.query<{ jobs: string; bytes: string }>(
      'select count(*) as jobs, coalesce(sum(bytes), 0) as bytes from zin_deleted_job where queue = $1 and until_ms > $2',
      [queue, Date.now()],
    )
    const { bytes: used = 0, jobs = 0 } = rows[0] ?? {}
    return { jobs: Math.max(0, mostDeleted.jobs - Number(jobs)), bytes: Math.max(0, mostDeleted.bytes - Number(used)) }
  }
  const undoArgs = ({ batch, ms }: UndoOptions, { bytes: most, jobs }: UndoRoom) => [batch, Date.now() + ms, jobs, most]
  const none: UndoOptions = { batch: '', ms: 0 }
  interface Moved {
    readonly deleted: string
    readonly restorable: string
    readonly bytes: string
  }

  return {
    async deleteJob(queue, id, undo): Promise<DeleteOutcome> {
      const columns = await opened()
      const found = await pool.query<{ tied: boolean; active: boolean }>(
        `select ${tied} as tied, j.state = 'active' as active from job j where j.queue = $1 and j.id = $2`,
        [queue, id],
      )
      const [state] = found.rows
      if (state === undefined || state.active) return 'changed'
      if (state.tied) return 'tied'
      const picked = `select j.queue, j.id, 1 as n, ${keptBytes} as bytes from job j
        where j.queue = $1 and j.id = $2 and j.state <> 'active' and not ${tied}`
      const { rows } = await pool.query<Moved>(moving(picked, columns, 3), [queue, id, ...undoArgs(undo, await room(queue))])
      if (Number(rows[0]?.deleted ?? 0) === 0) return 'changed'
      await pool.query(`select publish_event($1, 'removed', jsonb_build_object('jobId', $2::text))`, [queue, id])
      return Number(rows[0]?.restorable ?? 0) > 0 ? 'restorable' : 'final'
    },
    async *deleteJobs(queue, given, undo) {
      const columns = await opened()
      let left = undo === undefined ? { jobs: 0, bytes: 0 } : await room(queue)
      const { state } = given
      const range = rangeOf(queue, given)
      const picked = `select j.queue, j.id, row_number() over (order by ${orders[state]}) as n, ${keptBytes} as bytes
        from job j where ${inRange} and not ${tied}${given.exceptFailing === true ? ' and j.deferred_failure is null' : ''}
        order by ${orders[state]} limit ${stepJobs}`
      const statement = moving(picked, columns, 5)
      while (true) {
        const { rows } = await pool.query<Moved>(statement, [...range, ...undoArgs(undo ?? none, left)])
        const [deleted, restorable, used] = [rows[0]?.deleted, rows[0]?.restorable, rows[0]?.bytes].map(Number) as [number, number, number]
        left = { jobs: Math.max(0, left.jobs - restorable), bytes: Math.max(0, left.bytes - used) }
        if (deleted === 0) break
        await pool.query(`select publish_event($1, 'cleaned', jsonb_build_object('count', $2::text))`, [queue, String(deleted)])
        yield { looked: deleted, deleted, restorable, tied: 0 }
      }
      const { rows } = await pool.query<{ jobs: string }>(`select count(*) as jobs from job j where ${inRange} and ${tied}`, range)
      const jobs = Number(rows[0]?.jobs ?? 0)
      if (jobs > 0) yield { looked: jobs, deleted: 0, restorable: 0, tied: jobs }
    },
    countJobs: (queue, range, room, options) => countJobs(pool, queue, range, room, options, opened),
    async *restoreJobs(queue, batch) {
      const statement = restoring(await opened())
      while (true) {
        const { rows } = await pool.query<{ id: string; state: string }>(statement, [queue, batch, Date.now()])
        if (rows.length === 0) break
        const told = rows.filter(({ state }) => state !== 'completed' && state !== 'failed')
        if (told.length > 0) {
          await pool.query(events, [queue, told.map(({ id }) => id), told.map(({ state }) => state)])
          await pool.query("select pg_notify('bullmq_jobs', $1)", [queue])
        }
        yield { restored: rows.length, blocked: 0 }
      }
      const { rows } = await pool.query<{ jobs: string }>(
        'select count(*) as jobs from zin_deleted_job where queue = $1 and batch = $2 and until_ms > $3',
        [queue, batch, Date.now()],
      )
      const blocked = Number(rows[0]?.jobs ?? 0)
      if (blocked > 0) yield { restored: 0, blocked }
    },
    undoRoom: room,
    async deletedJobs(queue, { limit, offset }) {
      await opened()
      const { rows } = await pool.query<{ id: string; data: unknown; opts: DeletedJob['opts']; at: string }>(
        `select id, data, opts, added_at_ms as at from zin_deleted_job where queue = $1 and until_ms > $2
         order by until_ms, seq, id offset $3 limit $4`,
        [queue, Date.now(), offset, limit],
      )
      return rows.map(({ at, data, id, opts }) => ({ id, queueName: queue, data, opts, timestamp: Number(at) }))
    },
    async deletedJob(queue, id) {
      await opened()
      const { rows } = await pool.query<StoredDetails>(
        `select name, data, opts, return_value as result, progress, failed_reason as error, logs, added_at_ms as at,
           finished_at_ms as "finishedAt", parent_key as parent
         from zin_deleted_job where queue = $1 and id = $2 and until_ms > $3 order by until_ms desc limit 1`,
        [queue, id, Date.now()],
      )
      const [row] = rows
      if (row === undefined) return undefined
      const { at, error, finishedAt, logs, parent, ...same } = row
      const times = { timestamp: Number(at), finishedAt: finishedAt === null ? null : Number(finishedAt) }
      return { ...same, ...times, id, queueName: queue, error: error || null, logs: logs ?? [], parentKey: parent || undefined }
    },
    async forget(queue, jobs) {
      if (jobs.length === 0) return []
      await opened()
      const { rows } = await pool.query<{ id: string }>(
        `with noted as (
          insert into zin_erased_job (queue, id, at_ms) select $1, unnest($2::text[]), $3::bigint
          on conflict (queue, id) do update set at_ms = excluded.at_ms
        )
        delete from zin_deleted_job z using unnest($4::text[], $5::bigint[]) as j(id, added)
        where z.queue = $1 and z.id = j.id and z.added_at_ms = coalesce(j.added, z.added_at_ms) returning z.id`,
        [
          queue,
          [...new Set(jobs.map(({ addedAt, id }) => (addedAt === undefined ? id : exactly(id, addedAt))))],
          Date.now(),
          jobs.map(({ id }) => id),
          jobs.map(({ addedAt }) => addedAt ?? null),
        ],
      )
      return [...new Set(rows.map(({ id }) => id))]
    },
    async claim(queue, jobs) {
      if (jobs.length === 0) return []
      await opened()
      const { rows } = await pool.query<{ id: string }>(
        `insert into zin_claimed_job (queue, id, added_at_ms, at_ms) select $1, j.id, j.added, $4::bigint
         from unnest($2::text[], $3::bigint[]) as j(id, added) on conflict do nothing returning id`,
        [queue, jobs.map(({ id }) => id), jobs.map(({ addedAt }) => addedAt), Date.now()],
      )
      return rows.map(({ id }) => id)
    },
    async isErased(queue, id, addedAt) {
      await opened()
      const { rows } = await pool.query(
        'select 1 from zin_erased_job where queue = $1 and id in ($2, $3) and (id <> $2 or $4::bigint <= at_ms + $5::bigint)',
        [queue, id, exactly(id, addedAt), addedAt, erased.leewayMs],
      )
      return rows.length > 0
    },
    async expire() {
      await opened()
      await pool.query('delete from zin_deleted_job where until_ms <= $1', [Date.now()])
      for (const table of ['zin_erased_job', 'zin_claimed_job'])
        await pool.query(`delete from ${table} where at_ms <= $1`, [Date.now() - erased.ms])
    },
  }
}

/** Creates the table, and recreates it if a new version of BullMQ has changed the columns of a job. Returns those columns. */
async function open(pool: PglitePool): Promise<string> {
  const columnsOf = async (table: string): Promise<readonly string[]> => {
    const { rows } = await pool.query<{ name: string }>(
      `select attname || ' ' || atttypid::regtype as name from pg_attribute
       where attrelid = to_regclass($1) and attnum > 0 and not attisdropped order by attnum`,
      [table],
    )
    return rows.map(({ name }) => name)
  }
  const [ofJobs, existing] = [await columnsOf('job'), await columnsOf('zin_deleted_job')]
  const matches = existing.length > 0 && ofJobs.every((column, i) => existing[i] === column)
  if (existing.length > 0 && !matches) await pool.query('drop table zin_deleted_job')
  if (!matches) {
    await pool.query(`create table zin_deleted_job (like job, batch text not null, until_ms bigint not null, bytes bigint not null,
      logs jsonb, children jsonb, deduplicates boolean not null, dedup_until_ms bigint, primary key (queue, id, batch))`)
  }
  // Without it, each step of a restoration would sort all deleted jobs.
  await pool.query('create index if not exists zin_deleted_job_order on zin_deleted_job (queue, batch, seq)')
  await pool.query('create table if not exists zin_erased_job (queue text, id text, at_ms bigint not null, primary key (queue, id))')
  await pool.query(`create table if not exists zin_claimed_job (queue text, id text, added_at_ms bigint, at_ms bigint not null,
    primary key (queue, id, added_at_ms))`)
  return ofJobs.map((column) => column.slice(0, column.indexOf(' '))).join(', ')
}

function prefixed(columns: string, table: string): string {
  return columns
    .split(', ')
    .map((column) => `${table}.${column}`)
    .join(', ')
}
