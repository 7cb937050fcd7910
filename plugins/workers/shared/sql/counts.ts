import { deleteBefore, upsertRows } from 'zin/plugins/database'
import type { AttemptCounts, AttemptDelta, CountsQuery, WorkerCounts } from '../contract.js'
import { dayMs, minuteOf } from '../keep.js'
import { countsBy, countsOf, type MinuteTally, noTally, type Tally, tallies } from '../tally.js'
import type { StateConnection } from './connection.js'

/** Rows of run times that one statement inserts: a database bounds the values of a statement. */
const rowsAtOnce = 1_000

/** Attempts, in all and by minutes. */
export class SqlCounts {
  readonly #connection: StateConnection

  constructor(connection: StateConnection) {
    this.#connection = connection
  }

  async add(deltas: readonly AttemptDelta[]): Promise<void> {
    if (deltas.length === 0) return
    const totals = tallies(deltas, ({ worker }) => worker).map(([worker, tally]) => ({ worker, ...columnsOf(tally) }))
    const versioned = deltas.filter(({ version }) => version !== null)
    const versions = tallies(versioned, ({ worker, version }) => `${worker}\n${version}`)
    await this.#connection.run(({ transaction, names, minute }) => {
      const rows = versions.map(([key, tally, durations]) => {
        const [worker, version] = key.split('\n')
        return { key: { worker, minute, version }, tally, durations: Object.entries(durations) }
      })
      const minutes = rows.map(({ key, tally }) => ({ ...key, ...columnsOf(tally) }))
      const durations = rows.flatMap(({ key, durations }) =>
        durations.map(([bucket, attempts]) => ({ ...key, bucket: Number(bucket), attempts })),
      )
      return transaction(async (tx) => {
        await upsertRows(tx, { table: names.totals, key: ['worker'], rows: totals, existing: 'add' })
        if (minutes.length > 0)
          await upsertRows(tx, { table: names.minutes, key: ['worker', 'minute', 'version'], rows: minutes, existing: 'add' })
        for (let from = 0; from < durations.length; from += rowsAtOnce) {
          const rows = durations.slice(from, from + rowsAtOnce)
          await upsertRows(tx, { table: names.durations, key: ['worker', 'minute', 'version', 'bucket'], rows, existing: 'add' })
        }
      })
    })
  }

  async totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    if (workers.length === 0) return new Map()
    const rows = await this.#connection.run(({ db, names }) =>
      db.selectFrom(names.totals).selectAll().where('worker', 'in', workers).execute(),
    )
    return new Map(rows.map((row) => [row.worker, countsOf(tallyOf(row))]))
  }

  /** The database adds up, in one statement. */
  async read(workers: readonly string[], query: CountsQuery): Promise<readonly WorkerCounts[]> {
    if (workers.length === 0) return []
    const by: ('worker' | 'minute' | 'version')[] = ['worker']
    if (query.byMinute === true) by.push('minute')
    if (query.byVersion === true) by.push('version')
    const rows = await this.#connection.run(({ db, names, nowPlus }) => {
      const [since, kept] = [minuteOf(query.since), nowPlus(-dayMs)]
      const attempts = db
        .selectFrom(names.minutes)
        .where('worker', 'in', workers)
        .where('minute', '>=', since)
        .where('minute', '>', kept)
        .groupBy(by)
        .select(by)
        .select(({ fn, lit }) => [
          lit<number>(-1).as('bucket'),
          fn.sum<number>('completed').as('completed'),
          fn.sum<number>('failed').as('failed'),
          fn.sum<number>('lost').as('lost'),
          fn.sum<number>('total_us').as('total_us'),
        ])
      const durations = db
        .selectFrom(names.durations)
        .where('worker', 'in', workers)
        .where('minute', '>=', since)
        .where('minute', '>', kept)
        .groupBy([...by, 'bucket'])
        .select(by)
        .select(({ fn, lit }) => [
          'bucket',
          fn.sum<number>('attempts').as('completed'),
          lit<number>(0).as('failed'),
          lit<number>(0).as('lost'),
          lit<number>(0).as('total_us'),
        ])
      return attempts.unionAll(durations).execute()
    })
    return countsBy(workers, query, rows.map(minuteTally))
  }

  async sweep(): Promise<void> {
    await this.#connection.run(async ({ db, names, nowPlus }) => {
      const old = { column: 'minute', before: nowPlus(-dayMs) }
      await deleteBefore(db, { table: names.minutes, key: ['worker', 'minute', 'version'], ...old })
      await deleteBefore(db, { table: names.durations, key: ['worker', 'minute', 'version', 'bucket'], ...old })
    })
  }
}

interface Columns {
  readonly completed: number
  readonly failed: number
  readonly lost: number
  readonly total_us: number
}

function columnsOf({ completed, failed, lost, totalUs }: Tally): Columns {
  return { completed, failed, lost, total_us: totalUs }
}

function tallyOf(row: Columns): Tally {
  return { completed: Number(row.completed), failed: Number(row.failed), lost: Number(row.lost), totalUs: Number(row.total_us) }
}

interface SumRow extends Columns {
  readonly worker: string
  /** As text when the driver gives it so; only where it was asked for, as `version`. */
  readonly minute: number
  readonly version: string
  /** -1: the attempts. Otherwise `completed` is how many fell in this bucket of run times. */
  readonly bucket: number
}

function minuteTally({ worker, version, minute, bucket, ...columns }: SumRow): MinuteTally {
  const place = { worker, version, minute: Number(minute) }
  const times = Number(bucket)
  return times < 0
    ? { ...place, tally: tallyOf(columns), durations: {} }
    : { ...place, tally: noTally, durations: { [times]: Number(columns.completed) } }
}
