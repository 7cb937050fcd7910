import type { FlowProducer, Job, Processor, Queue, QueueEvents, Worker, WorkerOptions } from 'bullmq'
import { messageOf } from 'zin'
import { abortable } from 'zin/plugins/redis'
import { mostRunning, type QueueBackend } from '../backend.js'
import { loadBullmq } from '../bullmq.js'
import type { ListedState, QueueCounts } from '../contract.js'
import { embeddedDeletion } from '../deletion/embedded.js'
import type { EmbeddedStore } from '../embedded/open.js'
import { StoreUnavailableError } from '../embedded/statement-errors.js'
import { queueErrors } from '../errors.js'
import { embeddedFlows } from '../flows/embedded.js'
import { readyKey } from '../ready.js'
import { embeddedSchedules } from '../schedules/embedded.js'
import { embeddedSearch } from '../search/embedded.js'
import { embeddedAdding } from './embedded-adding.js'
import { embeddedLogs } from './embedded-logs.js'
import { embeddedParts } from './embedded-parts.js'
import { jobOfRow, type ListedRow, listedColumns } from './listed-jobs.js'

/** A worker stalls only if this process does, so the check can be frequent. */
const stalledIntervalMs = 5000
/** How long a worker waits before it repeats a command that the store did not run, such as the outcome of a job, in ms. */
const runRetryDelayMs = 5000

/** The order of each state. BullMQ's own lists page waiting jobs from the wrong end and omit prioritised ones. */
const orders: Readonly<Record<ListedState, { readonly by: readonly string[]; readonly descending?: true }>> = {
  waiting: { by: ['priority', 'seq'] },
  active: { by: ['seq'] },
  delayed: { by: ['process_at_ms', 'seq'] },
  'waiting-children': { by: ['seq'] },
  completed: { by: ['finished_at_ms', 'seq'], descending: true },
  failed: { by: ['finished_at_ms', 'seq'], descending: true },
}

const orderOf = (state: ListedState, reversed = false): string => {
  const { by, descending = false } = orders[state]
  return by.map((column) => (descending === reversed ? column : `${column} desc`)).join(', ')
}

/** $1 queue, $2 the ids of jobs after the last of which the page begins, $3 limit. */
const pageAfter = (state: ListedState): string => {
  const { by, descending } = orders[state]
  const columns = by.join(', ')
  const within = `queue = $1 and state = '${state}'`
  return `with anchor as materialized (
      select ${columns} from job where ${within} and id = any($2) order by ${orderOf(state, true)} limit 1
    )
    select ${listedColumns} from job where ${within} and (not exists (select 1 from anchor)
      or (${columns}) ${descending ? '<' : '>'} (select ${columns} from anchor)) order by ${orderOf(state)} limit $3`
}

const isClosed = (error: unknown): boolean => messageOf(error).startsWith('Cannot use a pool after calling end')

const states = {
  waiting: 'waiting',
  active: 'active',
  delayed: 'delayed',
  completed: 'completed',
  failed: 'failed',
  waitingChildren: 'waiting-children',
} as const satisfies Record<keyof QueueCounts, string>

/** The queues of $1, in their order. */
const given = 'unnest($1::text[]) with ordinality as given(queue, n) order by n'
/** One count for each state, because each state has an index that answers it without reading jobs. */
const counts = Object.entries(states)
  .map(([name, state]) => `(select count(*) from job where queue = given.queue and state = '${state}') as "${name}"`)
  .join(', ')

/** The first waiting job above a priority, and since when it waits. */
const firstAbove = (priority: string): string => `select priority,
    greatest(coalesce((opts->>'${readyKey}')::numeric, added_at_ms + coalesce((opts->>'delay')::numeric, 0)), coalesce(processed_at_ms, 0)) as since
  from job where queue = given.queue and state = 'waiting' and priority > ${priority} order by priority, seq limit 1`
/** Reads only the first job of each priority, of at most 50. */
const oldest = `(
    with recursive firsts as (
      (${firstAbove('-1')}) union all select above.* from firsts cross join lateral (${firstAbove('firsts.priority')}) above
    )
    select min(since) from (select since from firsts limit 50) as starts
  )`

type CountRow = Readonly<Record<keyof QueueCounts, string>>

function countsOf(row: CountRow): QueueCounts {
  const of = (name: keyof QueueCounts): number => Number(row[name])
  return {
    waiting: of('waiting'),
    active: of('active'),
    delayed: of('delayed'),
    completed: of('completed'),
    failed: of('failed'),
    waitingChildren: of('waitingChildren'),
  }
}

type JobRow = Readonly<Record<string, unknown>> & { readonly id: string }

/** The parts of BullMQ that convert a row to a job. Reading each job by its id would take a statement each. */
interface RowReader {
  readonly Job: { fromJSON(queue: Queue, json: unknown, id: string): Job }
  getBackend(): { readonly getJobData: (this: { run(): Promise<{ readonly rows: readonly JobRow[] }> }, id: string) => Promise<unknown> }
}

async function jobOf(queue: Queue, row: JobRow): Promise<Job> {
  const reader = queue as unknown as RowReader
  const json = await reader.getBackend().getJobData.call({ run: () => Promise.resolve({ rows: [row] }) }, row.id)
  return reader.Job.fromJSON(queue, json, row.id)
}

export function openEmbeddedBackend(store: EmbeddedStore): QueueBackend {
  const { createPostgresBackend, withBackend } = loadBullmq()
  const bull = withBackend(createPostgresBackend)
  const connection = store.pool as unknown as Parameters<typeof createPostgresBackend>[1]['connection']
  const known = new Set<string>()

  return {
    kind: 'embedded',
    where: 'embedded',
    // The classes differ from those for Redis only in the type of their backend, which callers do not use.
    makeQueue: (name, options) =>
      new bull.Queue(name, { ...options, connection } as ConstructorParameters<typeof bull.Queue>[1]) as unknown as Queue,
    makeWorker: (name: string, processor: Processor, options: Omit<WorkerOptions, 'connection' | 'prefix'>) =>
      new bull.Worker(name, processor, {
        stalledInterval: stalledIntervalMs,
        runRetryDelay: runRetryDelayMs,
        ...options,
        connection,
      } as ConstructorParameters<typeof bull.Worker>[2]) as unknown as Worker,
    makeEvents: (name, options) => new bull.QueueEvents(name, { ...options, connection }) as unknown as QueueEvents,
    makeFlow: (options) => new bull.FlowProducer({ ...options, connection }) as unknown as FlowProducer,
    ready: () => Promise.resolve(),
    async page(queue, state, offset, limit, payload) {
      const rows = async <Row extends object>(columns: string) =>
        (
          await store.pool.query<Row>(
            `select ${columns} from job where queue = $1 and state = '${state}' order by ${orderOf(state)} offset $2 limit $3`,
            [queue.name, offset, limit],
          )
        ).rows
      if (!payload) return (await rows<ListedRow>(listedColumns)).map((row) => jobOfRow(queue, row))
      return Promise.all((await rows<JobRow>('*')).map((row) => jobOf(queue, row)))
    },
    async pageAfter(queue, state, after, limit) {
      const { rows } = await store.pool.query<ListedRow>(pageAfter(state), [queue.name, after, limit])
      return rows.map((row) => jobOfRow(queue, row))
    },
    async counts(queues) {
      const { rows } = await store.pool.query<CountRow>(`select ${counts} from ${given}`, [queues])
      return rows.map(countsOf)
    },
    async samples(queues) {
      const { rows } = await store.pool.query<CountRow & { readonly paused: boolean; readonly oldest: string | null }>(
        `select ${counts}, ${oldest} as oldest,
           exists (select 1 from meta where queue = given.queue and field = 'paused' and value = '1') as paused
         from ${given}`,
        [queues],
      )
      return rows.map((row) => ({
        counts: countsOf(row),
        paused: row.paused,
        oldestWaiting: row.oldest === null ? undefined : Number(row.oldest),
      }))
    },
    async running(queues) {
      const { rows } = await store.pool.query<{ name: string; since: readonly string[] }>(
        `select wanted.queue as name, array(
           select processed_at_ms::text from job
           where job.queue = wanted.queue and state = 'active' and processed_at_ms is not null order by processed_at_ms limit $2) as since
         from unnest($1::text[]) as wanted(queue)`,
        [queues, mostRunning],
      )
      const found = new Map(rows.map(({ name, since }) => [name, since.map(Number)]))
      return queues.map((name) => found.get(name) ?? [])
    },
    async scheduled(queues) {
      const { rows } = await store.pool.query<{ queue: string }>('select distinct queue from scheduler where queue = any($1)', [queues])
      return rows.map(({ queue }) => queue)
    },
    takesTurn: async () => true,
    time: async () => Date.now(),
    async lastEvent(queue) {
      const { rows } = await store.pool.query<{ id: string | null }>('select max(id) as id from event where queue = $1', [queue.name])
      return rows[0]?.id ?? undefined
    },
    async reachesBack(queue, id) {
      // The id of an event in Redis, of a follower whose position was moved with the app.
      if (!/^\d+$/.test(id)) return false
      const { rows } = await store.pool.query('select 1 from event where queue = $1 and id <= $2 limit 1', [queue.name, id])
      return rows.length > 0
    },
    async firstAbove(queue, priority) {
      const { rows } = await store.pool.query<{ id: string }>(
        "select id from job where queue = $1 and state = 'waiting' and priority > $2 order by priority, seq limit 1",
        [queue.name, priority],
      )
      return rows[0] && ((await queue.getJob(rows[0].id)) as Job | undefined)
    },
    async claim(queue, id, { token, lockMs, reason }) {
      const { rowCount } = await store.pool.query(
        `update job set state = 'active', lock_token = $3, locked_until_ms = $4, deferred_failure = $5
         where queue = $1 and id = $2 and state in ('waiting', 'delayed', 'waiting-children')`,
        [queue.name, id, token, Date.now() + lockMs, reason],
      )
      return rowCount === 1
    },
    async failNext(queue, id, reason) {
      const { rowCount } = await store.pool.query(
        "update job set deferred_failure = $3 where queue = $1 and id = $2 and state not in ('completed', 'failed')",
        [queue.name, id, reason],
      )
      return rowCount === 1
    },
    async relock({ id, queueName }, { ms, since, token }) {
      const { rowCount } = await store.pool.query(
        `update job set locked_until_ms = $4, stalled_marked = false
         where queue = $1 and id = $2 and state = 'active' and lock_token = $3 and processed_at_ms <= $5`,
        [queueName, id, token, Date.now() + ms, since],
      )
      return rowCount === 1
    },
    // A trigger does.
    noteReady: () => Promise.resolve(),
    async dueAt(queue, ids) {
      const { rows } = await store.pool.query<{ id: string; due: string }>(
        "select id, process_at_ms as due from job where queue = $1 and id = any($2) and state = 'delayed'",
        [queue.name, ids],
      )
      const due = new Map(rows.map((row) => [row.id, Number(row.due)]))
      return ids.map((id) => due.get(id))
    },
    ...embeddedAdding(store.pool),
    ...embeddedLogs(store.pool),
    ...embeddedParts(store.pool),
    async removeTraces(queue, removed) {
      const ids = removed.map(({ id }) => id ?? '')
      await store.pool.query("delete from event where queue = $1 and data->>'jobId' = any($2)", [queue.name, ids])
      await store.pool.query('update job_dependency set value = null where child_queue = $1 and child_id = any($2)', [queue.name, ids])
    },
    flows: embeddedFlows(store.pool),
    deletion: embeddedDeletion(store.pool),
    search: embeddedSearch(store.pool),
    schedules: embeddedSchedules(store.pool),
    data: async () => (await import('../data/embedded.js')).embeddedData(store.pool),
    async note(name) {
      const [found] = (await store.pool.query<{ name: string | null }>("select to_regclass('zin_note')::text as name")).rows
      if (!found?.name) return undefined
      return (await store.pool.query<{ text: string }>('select text from zin_note where name = $1', [name])).rows[0]?.text
    },
    async setNote(name, text) {
      await store.pool.query('create table if not exists zin_note (name text primary key, text text not null)')
      await store.pool.query('insert into zin_note values ($1, $2) on conflict (name) do update set text = excluded.text', [name, text])
    },
    // The lock of the data directory keeps other processes out.
    users: async () => undefined,
    scrub: () => store.scrub(),
    remember: (name) => void known.add(name),
    async names() {
      // Steps from name to name through the index, instead of reading every job.
      const { rows } = await store.pool.query<{ name: string }>(`
        with recursive names(name) as (
          (select queue from job order by queue limit 1)
          union all
          select (select queue from job where queue > names.name order by queue limit 1) from names where names.name is not null
        )
        select name from names where name is not null union select queue from meta`)
      return [...new Set([...known, ...rows.map((row) => row.name)])]
    },
    // In this store, a limit by count would read all kept jobs at every completion; a limit by age uses an index.
    keep: (wanted) => ({ age: 'age' in wanted ? wanted.age : 24 * 3600 }),
    async ping(signal) {
      const { disk } = store
      // Jobs can still be read.
      if (disk.lacks()) throw queueErrors.QUEUE_DISK_FULL(disk.dir, disk.free)
      await abortable(store.pool.query('select 1'), signal)
    },
    isUnavailable: (error) => error instanceof StoreUnavailableError || isClosed(error),
    isUnsent: (error) => error instanceof StoreUnavailableError || isClosed(error),
    close: () => store.close(),
  }
}
