import { deleteBefore, inList, maxParameters, upsertQueries } from 'zin/plugins/database'
import type { AttemptCounts, AttemptDelta, CountsQuery, WorkerCounts } from '../contract.js'
import { dayMs, minuteOf } from '../keep.js'
import { countsBy, countsOf, type MinuteTally, noTally, type Tally, tallies } from '../tally.js'
import type { StateConnection, StateStatement } from './connection.js'
import type { CountColumns } from './tables.js'

/** Maximum number of rows of run times per statement, because databases limit the parameters of a statement. */
const rowsAtOnce = 1_000
/** A connection with a lower limit of parameters is behind a proxy, which also limits the statements and the bytes of a batch. */
const fewParameters = 1_000
/** Maximum number of values per batch behind a proxy: 16 statements with as many parameters as the edge proxy accepts, below 100 KB. */
const valuesBehindProxy = 1_600
/** Maximum number of workers per read behind a proxy: with all buckets of run times, they have less than its limit of 10,000 rows. */
const workersBehindProxy = 50

/** Counts attempts in SQL, in total and by minute. */
export class SqlCounts {
  readonly #connection: StateConnection

  constructor(connection: StateConnection) {
    this.#connection = connection
  }

  /** Resolves to the number of deltas that were added, from the first on. */
  async add(deltas: readonly AttemptDelta[]): Promise<number> {
    return this.#connection.run(async (statement) => {
      const taken = deltas.slice(0, isBehindProxy(statement.db) ? fitting(deltas) : deltas.length)
      if (taken.length > 0) await this.#addAll(taken, statement)
      return taken.length
    })
  }

  async #addAll(deltas: readonly AttemptDelta[], { db, batch, names, minute }: StateStatement): Promise<void> {
    const totals = tallies(deltas, ({ worker }) => worker).map(([worker, tally]) => ({ worker, ...columnsOf(tally) }))
    const versioned = deltas.filter(({ version }) => version !== null)
    const versions = tallies(versioned, ({ worker, version }) => `${worker}\n${version}`)
    const rows = versions.map(([key, tally, durations]) => {
      const [worker, version] = key.split('\n')
      return { key: { worker, minute, version }, tally, durations: Object.entries(durations) }
    })
    const minutes = rows.map(({ key, tally }) => ({ ...key, ...columnsOf(tally) }))
    const durations = rows.flatMap(({ key, durations }) =>
      durations.map(([bucket, attempts]) => ({ ...key, bucket: Number(bucket), attempts })),
    )
    const key = ['worker', 'minute', 'version']
    const queries = [
      ...(await upsertQueries(db, { table: names.totals, key: ['worker'], rows: totals, existing: 'add' })),
      ...(await upsertQueries(db, { table: names.minutes, key, rows: minutes, existing: 'add' })),
    ]
    for (let from = 0; from < durations.length; from += rowsAtOnce) {
      const rows = durations.slice(from, from + rowsAtOnce)
      queries.push(...(await upsertQueries(db, { table: names.durations, key: [...key, 'bucket'], rows, existing: 'add' })))
    }
    await batch(queries)
  }

  async totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    if (workers.length === 0) return new Map()
    const rows = await this.#connection.run(async ({ db, names }) =>
      db
        .selectFrom(names.totals)
        .selectAll()
        .where(await inList(db, 'worker', workers))
        .execute(),
    )
    return new Map(rows.map((row) => [row.worker, countsOf(tallyOf(row))]))
  }

  /** Sums in the database, in one statement; behind a proxy, which limits the rows of a result, in one statement per 50 workers. */
  async read(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]> {
    if (workers.length === 0) return []
    const atOnce = await this.#connection.run(async ({ db }) => (isBehindProxy(db) ? workersBehindProxy : workers.length))
    const rows: SumRow[] = []
    for (let from = 0; from < workers.length; from += atOnce) rows.push(...(await this.#sums(workers.slice(from, from + atOnce), query)))
    return countsBy(workers, query, rows.map(minuteTally))
  }

  #sums(workers: readonly string[], query: CountsQuery): Promise<readonly SumRow[]> {
    const by: ('worker' | 'minute' | 'version')[] = ['worker']
    if (query.byMinute === true) by.push('minute')
    if (query.byVersion === true) by.push('version')
    return this.#connection.run(async ({ db, names, nowPlus }) => {
      const listed = await inList(db, 'worker', workers)
      const [since, kept] = [minuteOf(query.since), nowPlus(-dayMs)]
      const attempts = db
        .selectFrom(names.minutes)
        .where(listed)
        .where('minute', '>=', since)
        .where('minute', '>', kept)
        .groupBy(by)
        .select(by)
        .select(({ fn, lit }) => [
          lit<number>(-1).as('bucket'),
          fn.sum<number>('completed').as('completed'),
          fn.sum<number>('failed').as('failed'),
          fn.sum<number>('lost').as('lost'),
          fn.sum<number>('timed_out').as('timed_out'),
          fn.sum<number>('cancelled').as('cancelled'),
          fn.sum<number>('total_us').as('total_us'),
        ])
      const durations = db
        .selectFrom(names.durations)
        .where(listed)
        .where('minute', '>=', since)
        .where('minute', '>', kept)
        .groupBy([...by, 'bucket'])
        .select(by)
        .select(({ fn, lit }) => [
          'bucket',
          fn.sum<number>('attempts').as('completed'),
          lit<number>(0).as('failed'),
          lit<number>(0).as('lost'),
          lit<number>(0).as('timed_out'),
          lit<number>(0).as('cancelled'),
          lit<number>(0).as('total_us'),
        ])
      return attempts.unionAll(durations).execute()
    })
  }

  async sweep(): Promise<void> {
    await this.#connection.run(async ({ db, names, nowPlus }) => {
      const old = { column: 'minute', before: nowPlus(-dayMs) }
      await deleteBefore(db, { table: names.minutes, key: ['worker', 'minute', 'version'], ...old })
      await deleteBefore(db, { table: names.durations, key: ['worker', 'minute', 'version', 'bucket'], ...old })
    })
  }
}

function isBehindProxy(db: StateStatement['db']): boolean {
  return maxParameters(db) < fewParameters
}

/** Returns how many deltas, from the first on, one batch behind a proxy can take; at least one. */
function fitting(deltas: readonly AttemptDelta[]): number {
  let values = 0
  const over = deltas.findIndex(({ durations }, index) => {
    // One row of totals, one of the minute, and one per bucket.
    values += 7 + 9 + 5 * Object.keys(durations).length
    return index > 0 && values > valuesBehindProxy
  })
  return over < 0 ? deltas.length : over
}

function columnsOf({ timedOut, totalUs, ...counts }: Tally): CountColumns {
  return { ...counts, timed_out: timedOut, total_us: totalUs }
}

function tallyOf(row: CountColumns): Tally {
  return {
    completed: Number(row.completed),
    failed: Number(row.failed),
    lost: Number(row.lost),
    timedOut: Number(row.timed_out),
    cancelled: Number(row.cancelled),
    totalUs: Number(row.total_us),
  }
}

interface SumRow extends CountColumns {
  readonly worker: string
  /** A string with some drivers. Present only if the query groups by it, like `version`. */
  readonly minute: number
  readonly version: string
  /** -1: counts of attempts. Otherwise `completed` is the number of attempts in this bucket of run times. */
  readonly bucket: number
}

function minuteTally({ worker, version, minute, bucket, ...columns }: SumRow): MinuteTally {
  const place = { worker, version, minute: Number(minute) }
  const times = Number(bucket)
  return times < 0
    ? { ...place, tally: tallyOf(columns), durations: {} }
    : { ...place, tally: noTally, durations: { [times]: Number(columns.completed) } }
}
