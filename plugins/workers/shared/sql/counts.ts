import { deleteBefore, upsertRows } from 'zin/plugins/database'
import type { AttemptCounts, AttemptDelta, MinuteCounts } from '../contract.js'
import { dayMs, minuteOf } from '../keep.js'
import { countsOf, type Tally, tallies } from '../tally.js'
import type { StateConnection } from './connection.js'

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
      const minutes = versions.map(([key, tally]) => {
        const [worker, version] = key.split('\n')
        return { worker, minute, version, ...columnsOf(tally) }
      })
      return transaction(async (tx) => {
        await upsertRows(tx, { table: names.totals, key: ['worker'], rows: totals, existing: 'add' })
        if (minutes.length > 0)
          await upsertRows(tx, { table: names.minutes, key: ['worker', 'minute', 'version'], rows: minutes, existing: 'add' })
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

  async minutes(worker: string, since: number): Promise<readonly MinuteCounts[]> {
    const rows = await this.#connection.run(({ db, names, nowPlus }) =>
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
    await this.#connection.run(({ db, names, nowPlus }) =>
      deleteBefore(db, { table: names.minutes, key: ['worker', 'minute', 'version'], column: 'minute', before: nowPlus(-dayMs) }),
    )
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
