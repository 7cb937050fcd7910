import type { Expression, SqlBool } from 'kysely'
import { type Database, maxParameters } from 'zin/plugins/database'
import { type Chain, registerChain } from '../chain.js'
import type { AuditEntry } from '../entry.js'
import type { AuditStore, BatchLimits, EntryQuery } from './contract.js'
import { type ChainRow, chainOfRow, type EntryRow, entryOfRow, mostColumns, rowOfChain, valuesOfEntries } from './rows.js'

const entriesTable = 'zin_audit'
const chainsTable = 'zin_compliance_chains'

/** Of a connection to the database itself. */
const direct: BatchLimits = { entries: 500, bytes: Number.POSITIVE_INFINITY }
/** Behind a SQL proxy, a batch is one request: by default of at most 128 KiB and 50 statements. */
const proxied: BatchLimits = { entries: 200, bytes: 100_000 }
/** Statements of a direct connection take many times more. */
const proxiedParameters = 1_000

interface Tables {
  [entriesTable]: EntryRow
  [chainsTable]: ChainRow
}

/** Leaves rows alone that are there already. */
function insertText(dialect: Database['dialect'], columns: readonly string[], rows: number): string {
  const unlessThere = dialect === 'mysql' ? `on duplicate key update id = ${entriesTable}.id` : 'on conflict (id) do nothing'
  const row = `(${columns.map(() => '?').join(', ')})`
  return `insert into ${entriesTable} (${columns.join(', ')}) values ${Array(rows).fill(row).join(', ')} ${unlessThere}`
}

/** The audit log in two tables, on every connection of the plugin database. */
export function databaseStore(database: Database): AuditStore {
  const tables = () => database.tables<Tables>()
  const matching = (query: EntryQuery) =>
    tables()
      .selectFrom(entriesTable)
      .where((eb) => {
        const texts = [
          ['action', query.action],
          ['target', query.target],
          ['actor', query.actor],
          ['outcome', query.outcome],
          ['request_id', query.requestId],
        ] as const
        const conditions: Expression<SqlBool>[] = texts.flatMap(([column, text]) => (text === undefined ? [] : [eb(column, '=', text)]))
        if (query.since !== undefined) conditions.push(eb('at', '>=', query.since))
        if (query.until !== undefined) conditions.push(eb('at', '<', query.until))
        return eb.and(conditions)
      })

  /** Insert statements that leave entries alone that are there already: those of an append that is repeated. */
  const insertEntries = async (entries: readonly AuditEntry[]) => {
    const { CompiledQuery } = await import('kysely')
    const atOnce = Math.max(1, Math.floor(maxParameters(tables()) / mostColumns))
    return Array.from({ length: Math.ceil(entries.length / atOnce) }, (_, index) => {
      const rows = entries.slice(index * atOnce, (index + 1) * atOnce)
      // As text: the query builder takes most of the time that the outcome of a job costs.
      const { columns, values } = valuesOfEntries(rows)
      const query = CompiledQuery.raw(insertText(database.dialect, columns, rows.length), values)
      return { compile: () => query }
    })
  }

  /** Sets the columns of the owner of a chain, or of the one that purges it: neither overwrites what the other wrote. */
  const setHead = ({ chain, entries, keyId, lastHash, closed, seal }: Chain) =>
    tables()
      .updateTable(chainsTable)
      .set({ entries, key_id: keyId, last_hash: lastHash, closed: closed ? 1 : 0, seal })
      .where('chain', '=', chain)
      // A write that was given up may arrive after later ones.
      .where('entries', '<=', entries)
  const setStart = ({ chain, purged, purgedHash, purgedKeyId, purgedSeal }: Chain) =>
    tables()
      .updateTable(chainsTable)
      .set({ purged, purged_hash: purgedHash, purged_key_id: purgedKeyId, purged_seal: purgedSeal })
      .where('chain', '=', chain)

  const store: AuditStore = {
    get batchLimits() {
      return maxParameters(tables()) <= proxiedParameters ? proxied : direct
    },
    async open(chain, register) {
      const known = await store.chain(registerChain)
      const insertChain = tables().insertInto(chainsTable).values(rowOfChain(chain))
      const keepRegister = known === undefined ? tables().insertInto(chainsTable).values(rowOfChain(register)) : setHead(register)
      try {
        await database.batch([insertChain, keepRegister])
        return true
      } catch (error) {
        if (!database.isUniqueViolation(error)) throw error
        // An earlier attempt may have succeeded without our hearing of it.
        return (await store.chain(chain.chain))?.opening === chain.opening
      }
    },
    async append(entries, chain) {
      await database.batch([...(await insertEntries(entries)), setHead(chain)])
    },
    async list(query, { limit, offset }) {
      const rows = await matching(query).selectAll().orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).offset(offset).execute()
      return rows.map(entryOfRow)
    },
    async count(query) {
      const { total } = await matching(query)
        .select((eb) => eb.fn.countAll().as('total'))
        .executeTakeFirstOrThrow()
      return Number(total)
    },
    async entries({ after, limit, to }) {
      const rows = await tables()
        .selectFrom(entriesTable)
        .selectAll()
        .where('id', '>', after)
        .where('id', '<=', to)
        .orderBy('id')
        .limit(limit)
        .execute()
      return rows.map(entryOfRow)
    },
    async firstSince({ after, since, to }) {
      const row = await tables()
        .selectFrom(entriesTable)
        .select('id')
        .where('id', '>', after)
        .where('id', '<=', to)
        .where('at', '>=', since)
        .orderBy('id')
        .limit(1)
        .executeTakeFirst()
      return row === undefined ? undefined : Number(row.id)
    },
    async chain(chain) {
      const row = await tables().selectFrom(chainsTable).selectAll().where('chain', '=', chain).executeTakeFirst()
      return row && chainOfRow(row)
    },
    async chains(after, limit) {
      const rows = await tables().selectFrom(chainsTable).selectAll().where('chain', '>', after).orderBy('chain').limit(limit).execute()
      return rows.map(chainOfRow)
    },
    async purge(chain, from, to) {
      const gone = tables().deleteFrom(entriesTable).where('id', '>=', from).where('id', '<=', to)
      await database.batch([setStart(chain), gone])
    },
    async dropChain(chain, register) {
      await database.batch([setStart(register), tables().deleteFrom(chainsTable).where('chain', '=', chain)])
    },
  }
  return store
}
