import type { PglitePool } from '../embedded/pool.js'
import { isPlanned } from '../schedules/embedded.js'
import type { CountedJobs, DeleteRange, UndoRoom } from './contract.js'

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
export const tied = `(${scheduled} or ${inFlow})`

/** $1 queue, $2 state, $3 before, $4 maximum attempts. */
export const inRange = `j.queue = $1 and j.state = $2::job_state and coalesce(j.finished_at_ms, j.added_at_ms) < $3::bigint
  and j.attempts_made <= $4::int`

export const bytes = ['data', 'opts', 'return_value', 'progress', 'stacktrace', 'failed_reason']
  .map((column) => `coalesce(octet_length(j.${column}::text), 0)`)
  .join(' + ')
export const logBytes = 'coalesce((select sum(octet_length(l.row)) from job_log l where l.queue = j.queue and l.job_id = j.id), 0)'

/** The parameters of {@link inRange}. */
export function rangeOf(queue: string, { before, maxAttempts, state }: DeleteRange): readonly unknown[] {
  return [queue, state, before, Math.min(maxAttempts ?? 2 ** 31 - 1, 2 ** 31 - 1)]
}

/** Jobs per step of a count, which takes a few milliseconds. */
const countedJobs = 1_000

/** $5, $6: the room in jobs and bytes; $7: ids wanted; $8, $9: the place in the order after which the step begins. */
const countStep = (state: DeleteRange['state']): string => {
  const [first, second] = orders[state].split(', ') as [string, string | undefined]
  const place = `${first}, ${second ?? first}`
  return `with picked as materialized (
      select j.id, j.deferred_failure is not null as failing, ${scheduled} as scheduled, ${inFlow} as in_flow,
        ${bytes} + ${logBytes} as bytes, ${first} as first, ${second ?? first} as second, row_number() over (order by ${place}) as n
      from job j where ${inRange} and (${place}) > ($8::bigint, $9::bigint) order by ${place} limit ${countedJobs}
    ),
    free as (
      select bytes, row_number() over (order by n) as nth, sum(bytes) over (order by n) as upto
      from picked where not scheduled and not in_flow
    ),
    kept as (select count(*) as jobs, coalesce(sum(bytes), 0) as bytes from free where nth <= $5::bigint and upto <= $6::bigint)
    select count(*) as looked,
      count(*) filter (where not scheduled and not in_flow and not failing) as free,
      count(*) filter (where not scheduled and not in_flow and failing) as "freeFailing",
      count(*) filter (where not scheduled and in_flow and not failing) as flow,
      count(*) filter (where not scheduled and in_flow and failing) as "flowFailing",
      count(*) filter (where scheduled) as scheduled,
      (select jobs from kept) as restorable, (select bytes from kept) as bytes,
      array(select id from picked order by n limit $7) as ids,
      (select first from picked order by n desc limit 1) as first, (select second from picked order by n desc limit 1) as second
    from picked`
}

const numbers = ['free', 'freeFailing', 'flow', 'flowFailing', 'scheduled', 'restorable', 'bytes'] as const

type CountRow = Readonly<Record<(typeof numbers)[number] | 'looked' | 'first' | 'second', string>> & Pick<CountedJobs, 'ids'>

export async function* countJobs(
  pool: PglitePool,
  queue: string,
  range: DeleteRange,
  room: UndoRoom,
  { sample }: { readonly sample: number },
  opened: () => Promise<unknown>,
): AsyncGenerator<CountedJobs, void, undefined> {
  await opened()
  let [jobs, size] = [room.jobs, room.bytes]
  let place: readonly [string, string] = [String(-(2 ** 53)), String(-(2 ** 53))]
  while (true) {
    const values = [...rangeOf(queue, range), Math.max(0, jobs), Math.max(0, size), sample, ...place]
    const { rows } = await pool.query<CountRow>(countStep(range.state), values)
    const [row] = rows
    if (row === undefined || Number(row.looked) === 0) return
    const counted = Object.fromEntries(numbers.map((name) => [name, Number(row[name])])) as Omit<CountedJobs, 'ids'>
    jobs -= counted.restorable
    size -= counted.bytes
    place = [row.first, row.second]
    yield { ...counted, ids: row.ids }
    if (Number(row.looked) < countedJobs) return
  }
}
