import { deleteBefore, upsertQueries } from 'zin/plugins/database'
import { mostChanges, type News } from '../contract.js'
import { dayMs } from '../keep.js'
import type { StateConnection } from './connection.js'

/** Which workers changed, by revision. */
export class SqlChanges {
  readonly #connection: StateConnection

  constructor(connection: StateConnection) {
    this.#connection = connection
  }

  add(worker: string): Promise<number> {
    return this.#connection.run(async ({ db, names, now, batch }) => {
      const current = db.selectFrom(names.revisions).select('revision').where('id', '=', 1)
      // The first statement locks the row until the end: whoever sees a revision sees the change as well.
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

  /** One statement. */
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
    const known = since >= 0 && since <= revision && listed.length < mostChanges
    return { revision, changed: known ? new Map(listed) : 'all', reported: Number(rows[0]?.reported ?? 0) === 1 }
  }

  async sweep(): Promise<void> {
    await this.#connection.run(({ db, names, nowPlus }) =>
      deleteBefore(db, { table: names.changes, key: ['worker'], column: 'changed_at', before: nowPlus(-dayMs) }),
    )
  }
}
