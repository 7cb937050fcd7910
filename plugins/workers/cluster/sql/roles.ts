import type { SqlMessages } from './messages.js'
import type { SqlStore } from './sql-store.js'

/** Leader roles: a row that is only changed by who holds it, or when its lease has ended. */
export class SqlRoles {
  readonly #store: SqlStore
  readonly #messages: SqlMessages

  constructor(store: SqlStore, messages: SqlMessages) {
    this.#store = store
    this.#messages = messages
  }

  async lead(role: string, node: string, leaseMs: number): Promise<number | undefined> {
    const held = await this.#store.run(async ({ db, names, now, nowPlus }) => {
      await db
        .updateTable(names.leaders)
        // The epoch first: MySQL assigns from left to right, and it looks at the holder before.
        .set((eb) => ({
          epoch: eb
            .case()
            .when('node', '=', node)
            .then(eb.ref('epoch'))
            .else(eb('epoch', '+', 1))
            .end(),
          node,
          lease_until: nowPlus(leaseMs),
        }))
        .where('role', '=', role)
        .where((eb) => eb.or([eb('node', '=', node), eb('lease_until', '<=', now)]))
        .execute()
      return db.selectFrom(names.leaders).select(['node', 'epoch']).where('role', '=', role).executeTakeFirst()
    })
    if (held !== undefined) return held.node === node ? Number(held.epoch) : undefined
    const made = await this.#store.run(({ nowPlus }) =>
      this.#store.insertIfAbsent('leaders', { role, node, epoch: 1, lease_until: nowPlus(leaseMs) }),
    )
    return made ? 1 : undefined
  }

  async epochOf(role: string): Promise<number> {
    const row = await this.#store.run(({ db, names }) =>
      db.selectFrom(names.leaders).select('epoch').where('role', '=', role).executeTakeFirst(),
    )
    return Number(row?.epoch ?? 0)
  }

  async resign(role: string, node: string): Promise<void> {
    const given = await this.#store.run(({ db, names }) =>
      db.updateTable(names.leaders).set({ node: '', lease_until: 0 }).where('role', '=', role).where('node', '=', node).executeTakeFirst(),
    )
    if (given.numUpdatedRows > 0n) await this.#messages.send([{ kind: 'vacant', role }])
  }
}
