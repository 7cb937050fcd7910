import type { Beat, KnownNode, NodeInfo } from '../cluster.js'
import { lostNodeMs } from '../keep.js'
import type { SqlMessages } from './messages.js'
import type { SqlStore } from './sql-store.js'
import { writeRows } from './write-rows.js'

/** The processes that are known, and the revision. */
export class SqlLeases {
  readonly #store: SqlStore
  readonly #messages: SqlMessages

  constructor(store: SqlStore, messages: SqlMessages) {
    this.#store = store
    this.#messages = messages
  }

  async beat(node: NodeInfo, leaseMs: number): Promise<Beat> {
    const { id } = node
    const info = JSON.stringify(node)
    const renewed = await this.#store.run(({ db, names, now, nowPlus }) =>
      db
        .updateTable(names.nodes)
        .set({ info, lease_until: nowPlus(leaseMs) })
        .where('id', '=', id)
        .where('lease_until', '>', now)
        .executeTakeFirst(),
    )
    if (renewed.numUpdatedRows === 0n) await this.#join(id, info, leaseMs)
    return this.read()
  }

  async leave(node: string): Promise<void> {
    const left = await this.#store.run(async ({ db, names }) => {
      await db.deleteFrom(names.statuses).where('node', '=', node).execute()
      return db.deleteFrom(names.nodes).where('id', '=', node).executeTakeFirst()
    })
    if (left.numDeletedRows > 0n) await this.#messages.send([{ kind: 'node', node, joined: false }])
  }

  /** One statement. */
  async read(): Promise<Beat> {
    const rows = await this.#store.run(({ db, names, now }) =>
      db
        .selectFrom(names.nodes)
        .select((eb) => [
          'info',
          'lease_until',
          now.as('now'),
          eb.selectFrom(names.revisions).select('revision').where('id', '=', 1).as('revision'),
        ])
        .execute(),
    )
    return {
      revision: Number(rows[0]?.revision ?? 0),
      nodes: rows.map(({ info, lease_until, now }) => nodeOf(info, Number(lease_until), Number(now))),
    }
  }

  async announce(worker: string): Promise<void> {
    const added = await this.#store.run(({ db, names }) =>
      db
        .updateTable(names.revisions)
        .set((eb) => ({ revision: eb('revision', '+', 1) }))
        .where('id', '=', 1)
        .executeTakeFirst(),
    )
    if (added.numUpdatedRows === 0n) {
      const made = await this.#store.run(() => this.#store.insertIfAbsent('revisions', { id: 1, revision: 1 }))
      // Another process made the row in the meantime.
      if (!made) return this.announce(worker)
    }
    await this.#messages.send([{ kind: 'change', worker }])
  }

  /** Forgets processes that were lost long ago, and what they said. */
  async sweep(): Promise<void> {
    await this.#store.run(async ({ db, names, nowPlus }) => {
      await db.deleteFrom(names.nodes).where('lease_until', '<', nowPlus(-lostNodeMs)).execute()
      await db
        .deleteFrom(names.statuses)
        .where('reported_at', '<', nowPlus(-lostNodeMs))
        .where('node', 'not in', (eb) => eb.selectFrom(names.nodes).select('id'))
        .execute()
    })
  }

  async #join(node: string, info: string, leaseMs: number): Promise<void> {
    await this.#store.run(({ db, names, mysql, nowPlus }) =>
      writeRows(db, {
        mysql,
        table: names.nodes,
        key: ['id'],
        rows: [{ id: node, info, lease_until: nowPlus(leaseMs) }],
        existing: 'replace',
      }),
    )
    await this.#messages.send([{ kind: 'node', node, joined: true }])
  }
}

function nodeOf(info: string, leaseUntil: number, now: number): KnownNode {
  return { ...(JSON.parse(info) as NodeInfo), alive: leaseUntil > now, leaseUntil, leaseMs: Math.max(0, leaseUntil - now) }
}
