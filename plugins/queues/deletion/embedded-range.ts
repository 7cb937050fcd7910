import type { PglitePool } from '../embedded/pool.js'
import { isPlanned } from '../schedules/embedded.js'
import { type CountedJobs, type CountOptions, type DeleteRange, erased, type UndoRoom } from './contract.js'

export const orders = {
  waiting: 'j.priority, j.seq',
  delayed: 'j.process_at_ms, j.seq',
  'waiting-children': 'j.seq',
  completed: 'j.finished_at_ms, j.seq',
  failed: 'j.finished_at_ms, j.seq',
} as const

/** True for the next job of a schedule. */
const scheduled = isPlanned('j')
/** True for a job that its parent waits for, and a job that waits for children. */
const inFlow = `(j.pending_deps > 0 or exists (
  select 1 from job_dependency d where d.child_queue = j.queue and d.child_id = j.id and d.status = 'pending'))`
/** True for a job of which a child that it needs has failed. */
const ofFailed = `exists (
  select 1 from job_dependency d where d.parent_queue = j.queue and d.parent_id = j.id and d.status = 'failed')`
export const tied = `(${scheduled} or ${inFlow})`

/** $1 queue, $2 state, $3 before, $4 maximum attempts. */
export const inRange = `j.queue = $1 and j.state = $2::job_state and coalesce(j.finished_at_ms, j.added_at_ms) < $3::bigint
  and j.attempts_made <= $4::int`

/** Whether a row of jobs or of deleted jobs was erased, as opposed to a later job with its id. */
export const isErased = (row: string): string => `exists (select 1 from zin_erased_job e where e.queue = ${row}.queue
  and e.id in (${row}.id, ${row}.added_at_ms || ':' || ${row}.id)
  and (e.id <> ${row}.id or ${row}.added_at_ms <= e.at_ms + ${erased.leewayMs}))`

const bytes = ['data', 'opts', 'return_value', 'progress', 'stacktrace', 'failed_reason']
  .map((column) => `coalesce(octet_length(j.${column}::text), 0)`)
  .join(' + ')
const logBytes = 'coalesce((select sum(octet_length(l.row)) from job_log l where l.queue = j.queue and l.job_id = j.id), 0)'
/** What a job takes of the room once it is deleted; null for an erased one, which is not kept. */
export const keptBytes = `case when not ${isErased('j')} then (${bytes} + ${logBytes})::bigint end`

/**
 * Tables for a `with recursive`: `kept` (n, bytes) has those jobs of `from` (n, bytes) that are kept, for a deletion and for its dry run. Each
 * in its order, if it fits beside those before it; a smaller one after one that does not fit may.
 */
export const keeping = (from: string, room: { readonly jobs: string; readonly bytes: string }): string => `
  sizes as materialized (select array_agg(n order by n) as ns, array_agg(bytes order by n) as sizes from ${from}),
  fits as (
    select 0 as i, false as fits, 0::bigint as jobs, 0::bigint as used
    union all
    select f.i + 1, next.fits, f.jobs + next.fits::int, f.used + case when next.fits then sizes[f.i + 1] else 0 end
    from fits f, sizes, lateral (select f.jobs < ${room.jobs} and coalesce(f.used + sizes[f.i + 1] <= ${room.bytes}, false) as fits) next
    where f.i < cardinality(ns)
  ),
  kept as (select ns[i] as n, sizes[i] as bytes from fits, sizes where fits)`

/** The parameters of {@link inRange}. */
export function rangeOf(queue: string, { before, maxAttempts, state }: DeleteRange): readonly unknown[] {
  return [queue, state, before, Math.min(maxAttempts ?? 2 ** 31 - 1, 2 ** 31 - 1)]
}

/** Jobs per step of a count, which takes a few milliseconds. */
const countedJobs = 1_000

/** $5, $6: the room in jobs and bytes; $7: ids wanted; $8, $9: the place in the order after which the step begins; $10: whether to look for parents. */
const countStep = (state: DeleteRange['state']): string => {
  const [first, second] = orders[state].split(', ') as [string, string | undefined]
  const place = `${first}, ${second ?? first}`
  return `with recursive picked as materialized (
      select j.id, j.deferred_failure is not null as failing, ${scheduled} as scheduled, ${inFlow} as in_flow,
        ${keptBytes} as bytes, $10::boolean and ${ofFailed} as of_failed, ${first} as first, ${second ?? first} as second, row_number() over (order by ${place}) as n
      from job j where ${inRange} and (${place}) > ($8::bigint, $9::bigint) order by ${place} limit ${countedJobs}
    ),
    free as (select n, bytes from picked where not scheduled and not in_flow),${keeping('free', { jobs: '$5::bigint', bytes: '$6::bigint' })}
    select count(*) as looked,
      count(*) filter (where not scheduled and not in_flow and not failing) as free,
      count(*) filter (where not scheduled and not in_flow and failing) as "freeFailing",
      count(*) filter (where not scheduled and in_flow and not failing) as flow,
      count(*) filter (where not scheduled and in_flow and failing) as "flowFailing",
      count(*) filter (where scheduled) as scheduled,
      (select count(*) from kept) as restorable, (select coalesce(sum(bytes), 0) from kept) as bytes,
      array(select id from picked order by n limit $7) as ids, array(select id from picked where of_failed order by n) as parents,
      (select first from picked order by n desc limit 1) as first, (select second from picked order by n desc limit 1) as second
    from picked`
}

const numbers = ['free', 'freeFailing', 'flow', 'flowFailing', 'scheduled', 'restorable', 'bytes'] as const

type CountRow = Readonly<Record<(typeof numbers)[number] | 'looked' | 'first' | 'second', string>> & Pick<CountedJobs, 'ids' | 'parents'>

export async function* countJobs(
  pool: PglitePool,
  queue: string,
  range: DeleteRange,
  room: UndoRoom,
  { parents = false, sample }: CountOptions,
  opened: () => Promise<unknown>,
): AsyncGenerator<CountedJobs, void, undefined> {
  await opened()
  let [jobs, size] = [room.jobs, room.bytes]
  let place: readonly [string, string] = [String(-(2 ** 53)), String(-(2 ** 53))]
  while (true) {
    const values = [...rangeOf(queue, range), Math.max(0, jobs), Math.max(0, size), sample, ...place, parents]
    const { rows } = await pool.query<CountRow>(countStep(range.state), values)
    const [row] = rows
    if (row === undefined || Number(row.looked) === 0) return
    const counted = Object.fromEntries(numbers.map((name) => [name, Number(row[name])])) as Omit<CountedJobs, 'ids' | 'parents'>
    jobs -= counted.restorable
    size -= counted.bytes
    place = [row.first, row.second]
    yield { ...counted, ids: row.ids, parents: row.parents }
    if (Number(row.looked) < countedJobs) return
  }
}
