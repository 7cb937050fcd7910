import { deleteBefore, upsertQueries, upsertRows } from 'zin/plugins/database'
import { mostChanges, type News } from '../contract.js'
import { dayMs } from '../keep.js'
import type { StateConnection } from './connection.js'

/** The row for the newest deleted change: no worker has this name. It shows which lists are incomplete, and is never deleted itself. */
const deleted = { worker: '', changed_at: Number.MAX_SAFE_INTEGER }

/** Changes of workers, by revision. */
export class SqlChanges {
  readonly #connection: StateConnection

  constructor(connection: StateConnection) {
    this.#connection = connection
  }

  add(worker: string): Promise<number> {
    return this.#connection.run(async ({ db, names, now, batch }) => {
      const current = db.selectFrom(names.revisions).select('revision').where('id', '=', 1)
      // The first statement locks the row until the commit, so a reader that sees the revision also sees the change.
      const results = await batch([
        ...(await upsertQueries(db, { table: names.revisions, key: ['id'], rows: [{ id: 1, revision: 1 }], existing: 'add' })),
        ...(await upsertQueries(db, {
          table: names.changes,
          key: ['worker'],
          rows: [{ worker, revision: current, changed_at: now }],
          existing: 'replace',
        })),
        current,
      ])
      const [row] = (results.at(-1)?.rows ?? []) as readonly { readonly revision: number | string }[]
      return Number(row?.revision)
    })
  }

  /** Returns the changes since a revision, in one statement. */
  async since(node: string, since: number): Promise<News> {
    const rows = await this.#connection.run(({ db, names }) =>
      db
        .selectFrom(`${names.revisions} as r`)
        .leftJoin(`${names.changes} as c`, (join) => join.on('c.revision', '>', since))
        .select((eb) => [
          'r.revision as current',
          'c.worker as worker',
          'c.revision as revision',
          eb.exists(eb.selectFrom(names.statuses).select('worker').where('node', '=', node).limit(1)).as('reported'),
        ])
        .where('r.id', '=', 1)
        .limit(mostChanges)
        .execute(),
    )
    const revision = Number(rows[0]?.current ?? 0)
    const listed = rows.flatMap(({ worker, revision: changed }) => (worker === null ? [] : [[worker, Number(changed)] as const]))
    const complete = listed.length < mostChanges && listed.every(([worker]) => worker !== deleted.worker)
    const known = since >= 0 && since <= revision && complete
    return { revision, changed: known ? new Map(listed) : 'all', reported: Number(rows[0]?.reported ?? 0) === 1 }
  }

  async sweep(): Promise<void> {
    await this.#connection.run(async ({ db, names, nowPlus }) => {
      const old = await db
        .selectFrom(names.changes)
        .select(({ fn }) => [fn.max('revision').as('revision'), fn.max('changed_at').as('changedAt')])
        .where('changed_at', '<', nowPlus(-dayMs))
        .executeTakeFirst()
      if (old === undefined || old.revision === null) return
      const { revision, changedAt } = old
      // Stored first, so that a list read meanwhile is not mistaken for a complete one.
      await upsertRows(db, { table: names.changes, key: ['worker'], rows: [{ ...deleted, revision }], existing: 'replace' })
      await deleteBefore(db, { table: names.changes, key: ['worker'], column: 'changed_at', before: Number(changedAt) + 1 })
    })
  }
}
