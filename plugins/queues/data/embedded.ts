import type { DataRecord, DataStore } from 'zin'
import type { PglitePool } from '../embedded/pool.js'
import {
  groupsOf,
  isCounted,
  isNeeded,
  logRecords,
  type MovedChildren,
  type MovedDeduplication,
  type MovedJob,
  type MovedLog,
  type MovedNext,
  type MovedQueue,
  type MovedSchedule,
  movedMeta,
  present,
  type QueueRecord,
  ranNotes,
  recordChecker,
} from './records.js'

type Row = Readonly<Record<string, string | null>>

/** Jobs, lines and children that are read at a time. */
const [pageJobs, pageRows] = [500, 500]

/** The states in the order of the file, with the columns in whose order their jobs run or ended. */
const orders = [
  ['active', 'seq', '0::bigint'],
  ['waiting', 'priority', 'seq'],
  ['delayed', 'process_at_ms', 'seq'],
  ['waiting-children', 'seq', '0::bigint'],
  ['completed', 'finished_at_ms', 'seq'],
  ['failed', 'finished_at_ms', 'seq'],
] as const

const jobColumns = `id, name, state::text as state, data::text as data, opts::text as opts, priority::text as priority, delay_ms::text as delay,
  added_at_ms::text as added, process_at_ms::text as ready, processed_at_ms::text as started, finished_at_ms::text as ended,
  attempts_made::text as attempts, attempts_started::text as starts, stalled_count::text as stalls, progress::text as progress,
  return_value::text as result, failed_reason as error, stacktrace::text as stacks, deferred_failure as failing, processed_by as worker,
  dedup_id as deduplication, scheduler_id as schedule, parent_queue, parent_id`

const numberOf = (text: string | null | undefined): number | undefined => (text === null || text === undefined ? undefined : Number(text))

function jobOf(row: Row): MovedJob {
  const { parent_id: parentId, parent_queue: parentQueue, state } = row
  const ran = state === 'active'
  return present<MovedJob>({
    id: row.id ?? '',
    name: row.name ?? '',
    state: (ran ? 'waiting' : state) as MovedJob['state'],
    ran: ran ? true : undefined,
    data: row.data ?? '{}',
    opts: JSON.parse(row.opts ?? '{}') as MovedJob['opts'],
    priority: Number(row.priority),
    delay: Number(row.delay),
    addedAt: Number(row.added),
    readyAt: state === 'delayed' ? numberOf(row.ready) : undefined,
    startedAt: numberOf(row.started),
    endedAt: numberOf(row.ended),
    attempts: Number(row.attempts),
    starts: Number(row.starts),
    stalls: Number(row.stalls),
    progress: row.progress,
    result: row.result,
    error: row.error,
    stacks: row.stacks,
    failing: row.failing,
    worker: row.worker,
    deduplication: row.deduplication,
    schedule: row.schedule,
    parent: parentId === null || parentId === undefined ? undefined : { queue: parentQueue ?? '', id: parentId },
  })
}

/** The queues of the embedded store. */
export function embeddedData(pool: PglitePool): DataStore {
  const query = async (text: string, values: readonly unknown[] = []): Promise<readonly Row[]> => (await pool.query<Row>(text, values)).rows
  const ofKind = (records: readonly QueueRecord[], kind: keyof Omit<QueueRecord, 'of'>) =>
    records.filter((record) => record[kind] !== undefined)

  async function* jobs(queue: string, [state, first, second]: (typeof orders)[number]): AsyncGenerator<QueueRecord, void, undefined> {
    for (let after: readonly string[] = []; ; ) {
      const from = after.length === 0 ? '' : `and (${first}, ${second}) > ($3::bigint, $4::bigint)`
      const page = await query(
        `select id, ${first}::text as a, ${second}::text as b, (pg_column_size(data) + coalesce(pg_column_size(return_value), 0))::text as bytes
         from job where queue = $1 and state = $2::job_state ${from} order by ${first}, ${second} limit ${pageJobs}`,
        [queue, state, ...after],
      )
      for (const ids of groupsOf(page.map(({ bytes, id }) => ({ id: id ?? '', bytes: Number(bytes) })))) {
        const rows = new Map(
          (await query(`select ${jobColumns} from job where queue = $1 and id = any($2)`, [queue, ids])).map((row) => [row.id, row]),
        )
        const logged = await having('job_log', 'queue', 'job_id', queue, ids)
        const parents = await having('job_dependency', 'parent_queue', 'parent_id', queue, ids)
        for (const id of ids) {
          const row = rows.get(id)
          if (row === undefined) continue
          yield { of: queue, job: jobOf(row) }
          if (logged.has(id)) yield* logsOf(queue, id)
          if (parents.has(id)) yield* childrenOf(queue, id)
        }
      }
      const last = page.at(-1)
      if (last === undefined || page.length < pageJobs) return
      after = [last.a ?? '', last.b ?? '']
    }
  }

  const having = async (table: string, queueColumn: string, idColumn: string, queue: string, ids: readonly string[]) =>
    new Set(
      (
        await query(`select distinct ${idColumn} as id from ${table} where ${queueColumn} = $1 and ${idColumn} = any($2)`, [queue, ids])
      ).map(({ id }) => id),
    )

  async function* logsOf(queue: string, job: string): AsyncGenerator<QueueRecord, void, undefined> {
    for (let from = -1; ; ) {
      const rows = await query(
        `select idx::text as idx, row from job_log where queue = $1 and job_id = $2 and idx > $3::bigint order by idx limit ${pageRows}`,
        [queue, job, from],
      )
      yield* logRecords(
        queue,
        job,
        Number(rows[0]?.idx ?? 0),
        rows.map(({ row }) => row ?? ''),
      )
      if (rows.length < pageRows) return
      from = Number(rows.at(-1)?.idx)
    }
  }

  async function* childrenOf(queue: string, job: string): AsyncGenerator<QueueRecord, void, undefined> {
    for (let after = ''; ; ) {
      const rows = await query(
        `select child_queue as queue, child_id as id, child_key as key, status::text as state,
           case when status = 'ignored' then value #>> '{}' else value::text end as value
         from job_dependency where parent_queue = $1 and parent_id = $2 and child_key > $3 order by child_key limit ${pageRows}`,
        [queue, job, after],
      )
      const children = rows.map(
        ({ id, queue: of, state, value }) => present({ queue: of, id, state, value }) as MovedChildren['children'][number],
      )
      if (children.length > 0) yield { of: queue, children: { job, children } }
      if (rows.length < pageRows) return
      after = rows.at(-1)?.key ?? ''
    }
  }

  async function* othersOf(queue: string): AsyncGenerator<QueueRecord, void, undefined> {
    for (let after = ''; ; ) {
      const rows = await query(
        `select scheduler_id as id, next_run_ms::text as next, name, pattern, every_ms::text as every, tz, start_date_ms::text as starts,
           end_date_ms::text as ends, limit_count::text as most, offset_ms::text as offset, iteration_count::text as count,
           template_data::text as data, template_opts::text as opts
         from scheduler where queue = $1 and scheduler_id > $2 order by scheduler_id limit ${pageRows}`,
        [queue, after],
      )
      for (const row of rows) yield { of: queue, schedule: scheduleOf(row) }
      if (rows.length < pageRows) break
      after = rows.at(-1)?.id ?? ''
    }
    for (let after = ''; ; ) {
      const rows = await query(
        `select dedup_id as id, job_id as job, expire_at_ms::text as expires from dedup
         where queue = $1 and dedup_id > $2 and (expire_at_ms is null or expire_at_ms > $3::bigint) order by dedup_id limit ${pageRows}`,
        [queue, after, Date.now()],
      )
      for (const { expires, id, job } of rows)
        yield { of: queue, deduplication: present<MovedDeduplication>({ id: id ?? '', job: job ?? '', expiresAt: numberOf(expires) }) }
      if (rows.length < pageRows) break
      after = rows.at(-1)?.id ?? ''
    }
    const next = await query(
      `select dedup_id as id, payload->>'jobId' as job, payload->>'name' as name, (payload->'data')::text as data, (payload->'opts')::text as opts
       from dedup_next where queue = $1 order by dedup_id`,
      [queue],
    )
    for (const { data, id, job, name, opts } of next) {
      const given = { id: id ?? '', job, name: name ?? '', data: data ?? '{}', opts: JSON.parse(opts ?? '{}') as MovedNext['opts'] }
      yield { of: queue, next: present<MovedNext>(given) }
    }
  }

  const lastIdOf = async (queue: string): Promise<number | undefined> => {
    const [found] = await query('select job_id_seq_name($1) as name, to_regclass(job_id_seq_name($1))::text as there', [queue])
    if (found?.there === null || found === undefined) return undefined
    const [row] = await query(`select last_value::text as id from "${found.name}" where is_called`)
    return numberOf(row?.id)
  }

  return {
    where: 'the embedded queue',
    async size() {
      const [row] = await query('select ((select count(*) from job) + (select count(*) from scheduler))::text as n')
      return Number(row?.n)
    },
    counts: isCounted,
    async *read() {
      const names = await query(
        'select queue from job union select queue from meta union select queue from scheduler union select queue from dedup order by queue',
      )
      let ran = 0
      for (const { queue: name } of names) {
        const queue = name ?? ''
        const meta = (await query('select field, value from meta where queue = $1', [queue])).filter(
          ({ field, value }) => movedMeta.has(field ?? '') && value !== null,
        )
        const settings = Object.fromEntries(meta.map(({ field, value }) => [field, value])) as MovedQueue['meta']
        const moved = present<MovedQueue>({ meta: settings, lastId: await lastIdOf(queue) })
        if (isNeeded(moved)) yield { of: queue, queue: moved }
        for (const order of orders) {
          for await (const record of jobs(queue, order)) {
            if (record.job?.ran === true) ran++
            yield record as DataRecord
          }
        }
        for await (const record of othersOf(queue)) yield record as DataRecord
      }
      return ranNotes(ran)
    },
    checker: recordChecker,
    async write(given) {
      const records = given as readonly QueueRecord[]
      const client = await pool.connect()
      try {
        await client.query('begin')
        for (const { of, queue } of ofKind(records, 'queue')) {
          const { lastId = 0, meta } = queue as MovedQueue
          for (const [field, value] of Object.entries(meta)) await client.query(insertMeta, [of, field, value])
          if (lastId > 0) {
            await client.query('select next_job_id($1)', [of])
            await client.query('select setval(job_id_seq_name($1)::regclass, $2::bigint)', [of, lastId])
          }
        }
        const rows = ofKind(records, 'job').map(({ job, of }) => rowOf(of, job as MovedJob))
        if (rows.length > 0) await client.query(insertJobs, [JSON.stringify(rows)])
        for (const { log, of } of ofKind(records, 'log')) {
          const { from, job, lines } = log as MovedLog
          await client.query(insertLines, [of, job, from, lines])
        }
        for (const { children, of } of ofKind(records, 'children')) {
          const { children: list, job } = children as MovedChildren
          await client.query(insertChildren, [of, job, JSON.stringify(list)])
          await client.query(countChildren, [of, job])
        }
        for (const { of, schedule } of ofKind(records, 'schedule'))
          await client.query(insertSchedule, scheduleValues(of, schedule as MovedSchedule))
        for (const { deduplication, of } of ofKind(records, 'deduplication')) {
          const { expiresAt = null, id, job } = deduplication as MovedDeduplication
          await client.query(insertDeduplication, [of, id, job, expiresAt])
        }
        for (const { next, of } of ofKind(records, 'next')) {
          const { data, id, job = null, name, opts } = next as MovedNext
          await client.query(insertNext, [of, id, name, data, JSON.stringify(opts), job])
        }
        await client.query('commit')
      } finally {
        client.release()
      }
    },
    async clear() {
      for (const table of [
        'job_log',
        'job_dependency',
        'job',
        'dedup',
        'dedup_next',
        'scheduler',
        'meta',
        'event',
        'metrics',
        'rate_limit',
      ])
        await query(`truncate table ${table} cascade`)
      for (const table of ['zin_deleted_job', 'zin_erased_job', 'zin_claimed_job', 'zin_note']) {
        const [found] = await query('select to_regclass($1)::text as name', [table])
        if (found?.name) await query(`truncate table ${table}`)
      }
    },
  }
}

function scheduleOf(row: Row): MovedSchedule {
  const opts = JSON.parse(row.opts ?? '{}') as NonNullable<MovedSchedule['opts']>
  return present<MovedSchedule>({
    id: row.id ?? '',
    next: Number(row.next),
    name: row.name ?? '',
    pattern: row.pattern,
    every: numberOf(row.every),
    tz: row.tz,
    startDate: numberOf(row.starts),
    endDate: numberOf(row.ends),
    limit: numberOf(row.most),
    offset: numberOf(row.offset),
    count: Number(row.count),
    data: row.data === '{}' ? undefined : row.data,
    opts: Object.keys(opts).length === 0 ? undefined : opts,
  })
}

const insertMeta =
  'insert into meta (queue, field, value) values ($1, $2, $3) on conflict (queue, field) do update set value = excluded.value'

/** Jobs as JSON, in the order in which they run. */
const insertJobs = `insert into job (queue, id, seq, name, state, data, opts, priority, delay_ms, max_attempts, attempts_made, attempts_started, progress,
    return_value, failed_reason, stacktrace, deferred_failure, processed_by, added_at_ms, process_at_ms, processed_at_ms, finished_at_ms,
    stalled_count, dedup_id, scheduler_id, parent_queue, parent_id, parent_key)
  select r.queue, r.id, nextval('job_seq'), r.name, r.state::job_state, r.data::jsonb, r.opts, r.priority, r.delay,
    least(coalesce((r.opts->>'attempts')::numeric, 1), 2147483647)::integer,
    r.attempts, r.starts, r.progress::jsonb, r.result::jsonb, r.error, r.stacks::jsonb, r.failing, r.worker, r.added, r.ready, r.started, r.ended,
    r.stalls, r.deduplication, r.schedule, r.parent_queue, r.parent_id, r.parent_queue || ':' || r.parent_id
  from (select row_number() over () as n, x.* from jsonb_to_recordset($1::jsonb) as x(queue text, id text, name text, state text, data text, opts jsonb,
    priority integer, delay bigint, attempts integer, starts integer, progress text, result text, error text, stacks text, failing text, worker text,
    added bigint, ready bigint, started bigint, ended bigint, stalls integer, deduplication text, schedule text, parent_queue text, parent_id text)) r
  order by r.n`

function rowOf(queue: string, job: MovedJob): object {
  const { addedAt, endedAt, parent, readyAt, startedAt, ...same } = job
  return {
    ...same,
    queue,
    added: addedAt,
    ready: readyAt,
    started: startedAt,
    ended: endedAt,
    parent_queue: parent?.queue,
    parent_id: parent?.id,
  }
}

const insertLines = `insert into job_log (queue, job_id, idx, row) select $1, $2, $3::bigint + l.n - 1, l.row from unnest($4::text[]) with ordinality as l(row, n)`

const insertChildren = `insert into job_dependency (parent_queue, parent_id, child_queue, child_id, child_key, status, value)
  select $1, $2, c.queue, c.id, c.queue || ':' || c.id, c.state::dep_status, case when c.state = 'ignored' then to_jsonb(c.value) else c.value::jsonb end
  from jsonb_to_recordset($3::jsonb) as c(queue text, id text, state text, value text) on conflict do nothing`

const countChildren = `update job set pending_deps = (
    select count(*) from job_dependency d where d.parent_queue = $1 and d.parent_id = $2 and d.status = 'pending')
  where queue = $1 and id = $2`

const insertSchedule = `insert into scheduler (queue, scheduler_id, next_run_ms, name, pattern, every_ms, tz, start_date_ms, end_date_ms, limit_count, offset_ms,
    iteration_count, template_data, template_opts)
  values ($1, $2, $3::bigint, $4, $5, $6::bigint, $7, $8::bigint, $9::bigint, $10::integer, $11::bigint, $12::integer, $13::jsonb, $14::jsonb)`

function scheduleValues(queue: string, schedule: MovedSchedule): readonly unknown[] {
  const { count, data = '{}', endDate, every, id, limit, name, next, offset, opts = {}, pattern, startDate, tz } = schedule
  const [most, from, to] = [limit && Math.min(limit, 2 ** 31 - 1), startDate, endDate]
  return [queue, id, next, name, pattern, every, tz, from, to, most, offset, count, data, JSON.stringify(opts)]
}

const insertDeduplication = `insert into dedup (queue, dedup_id, job_id, expire_at_ms) values ($1, $2, $3, $4::bigint) on conflict do nothing`

const insertNext = `insert into dedup_next (queue, dedup_id, payload)
  values ($1, $2, jsonb_build_object('name', $3::text, 'data', $4::jsonb, 'opts', $5::jsonb, 'jobId', $6::text)) on conflict do nothing`
