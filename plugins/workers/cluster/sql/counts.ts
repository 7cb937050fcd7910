import type { AttemptCounts, AttemptDelta, MinuteCounts } from '../cluster.js'
import { dayMs, minuteOf } from '../keep.js'
import { countsOf, type Tally, tallies } from '../tally.js'
import type { SqlStore } from './sql-store.js'
import { writeRows } from './write-rows.js'

/** Workers whose minutes one statement deletes. */
const sweptAtOnce = 200

/** Attempts, in all and by minutes. */
export class SqlCounts {
  readonly #store: SqlStore

  constructor(store: SqlStore) {
    this.#store = store
  }

  async add(deltas: readonly AttemptDelta[]): Promise<void> {
    if (deltas.length === 0) return
    const totals = tallies(deltas, ({ worker }) => worker).map(([worker, tally]) => ({ worker, ...columnsOf(tally) }))
    const versioned = deltas.filter(({ version }) => version !== null)
    const versions = tallies(versioned, ({ worker, version }) => `${worker}\n${version}`)
    await this.#store.run(({ transaction, names, mysql, minute }) => {
      const minutes = versions.map(([key, tally]) => {
        const [worker, version] = key.split('\n')
        return { worker, minute, version, ...columnsOf(tally) }
      })
      return transaction(async (tx) => {
        await writeRows(tx, { mysql, table: names.totals, key: ['worker'], rows: totals, existing: 'add' })
        if (minutes.length > 0)
          await writeRows(tx, { mysql, table: names.minutes, key: ['worker', 'minute', 'version'], rows: minutes, existing: 'add' })
      })
    })
  }

  async totals(workers: readonly string[]): Promise<ReadonlyMap<string, AttemptCounts>> {
    if (workers.length === 0) return new Map()
    const rows = await this.#store.run(({ db, names }) => db.selectFrom(names.totals).selectAll().where('worker', 'in', workers).execute())
    return new Map(rows.map((row) => [row.worker, countsOf(tallyOf(row))]))
  }

  async minutes(worker: string, since: number): Promise<readonly MinuteCounts[]> {
    const rows = await this.#store.run(({ db, names, nowPlus }) =>
      db
        .selectFrom(names.minutes)
        .selectAll()
        .where('worker', '=', worker)
        .where('minute', '>=', minuteOf(since))
        .where('minute', '>', nowPlus(-dayMs))
        .orderBy('minute')
        .execute(),
    )
    return rows.map((row) => ({ minute: Number(row.minute), version: row.version, ...countsOf(tallyOf(row)) }))
  }

  async sweep(): Promise<void> {
    await this.#store.run(async ({ db, names, nowPlus }) => {
      const workers = (await db.selectFrom(names.totals).select('worker').execute()).map(({ worker }) => worker)
      // By worker, because the table is ordered by it: no other index has to be kept for this.
      for (let from = 0; from < workers.length; from += sweptAtOnce) {
        const some = workers.slice(from, from + sweptAtOnce)
        await db.deleteFrom(names.minutes).where('worker', 'in', some).where('minute', '<', nowPlus(-dayMs)).execute()
      }
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
