import type { Expression, SqlBool } from 'kysely'
import { type Database, inList, maxParameters } from 'zin/plugins/database'
import { type Chain, registerChain } from '../chain.js'
import { type AuditEntry, lastChain } from '../entry.js'
import type { AuditStore, BatchLimits, EntryQuery } from './contract.js'
import { type ChainRow, chainOfRow, type EntryRow, entryOfRow, mostColumns, rowOfChain, valuesOfEntries } from './rows.js'

const entriesTable = 'zin_audit'
const chainsTable = 'zin_compliance_chains'

/** Limits of a direct database connection. */
const direct: BatchLimits = { entries: 500, bytes: Number.POSITIVE_INFINITY }
/** Behind an SQL proxy, a batch is one request, by default of at most 128 KiB and 50 statements. */
const proxied: BatchLimits = { entries: 200, bytes: 100_000 }
/** Maximum parameters of a proxied statement; direct connections allow many times more. */
const proxiedParameters = 1_000

/** Columns of an entry that are text. */
const textColumns = [
  ...(['action', 'target', 'outcome', 'actor', 'device', 'via', 'digest_before', 'digest_after'] as const),
  ...(['reason', 'address', 'request_id', 'hash'] as const),
]

/** Columns of a chain that are text. A table from before the fourth migration lacks two of them. */
const chainTexts = [
  ...(['node', 'key_id', 'opening', 'last_hash', 'previous_seal', 'seal_key_id', 'seal'] as const),
  ...(['purged_hash', 'purged_key_id', 'purged_seal'] as const),
]

interface Tables {
  [entriesTable]: EntryRow
  [chainsTable]: ChainRow
}

/** Returns an insert statement that ignores existing rows. */
function insertText(dialect: Database['dialect'], columns: readonly string[], rows: number): string {
  const unlessThere = dialect === 'mysql' ? `on duplicate key update id = ${entriesTable}.id` : 'on conflict (id) do nothing'
  const row = `(${columns.map(() => '?').join(', ')})`
  return `insert into ${entriesTable} (${columns.join(', ')}) values ${Array(rows).fill(row).join(', ')} ${unlessThere}`
}

function nulText(what: string): string {
  return `${what} was altered: one of its texts contains the character NUL, which the log never writes`
}

/** Stores the audit log in two tables, on every kind of connection of the plugin database. */
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

  /** Returns insert statements that ignore existing entries, so that an append can be repeated. */
  const insertEntries = async (entries: readonly AuditEntry[]) => {
    const { CompiledQuery } = await import('kysely')
    const atOnce = Math.max(1, Math.floor(maxParameters(tables()) / mostColumns))
    return Array.from({ length: Math.ceil(entries.length / atOnce) }, (_, index) => {
      const rows = entries.slice(index * atOnce, (index + 1) * atOnce)
      // Raw SQL: the query builder would take most of the time per job outcome.
      const { columns, values } = valuesOfEntries(rows)
      const query = CompiledQuery.raw(insertText(database.dialect, columns, rows.length), values)
      return { compile: () => query }
    })
  }

  /** The owner of a chain sets the head columns, the purging node the start columns, so neither overwrites the other. */
  const headOf = ({ entries, lastHash, closed, counter, previousSeal, sealKeyId, seal }: Chain) => ({
    entries,
    last_hash: lastHash,
    closed: closed ? 1 : 0,
    counter,
    previous_seal: previousSeal,
    seal_key_id: sealKeyId,
    seal,
  })
  const setHead = (chain: Chain) =>
    tables()
      .updateTable(chainsTable)
      .set(headOf(chain))
      .where('chain', '=', chain.chain)
      // A write that timed out may arrive after later ones.
      .where('entries', '<=', chain.entries)
      .where('counter', '<=', chain.counter)
  const startOf = ({ purged, purgedHash, purgedKeyId, purgedSeal }: Chain) => ({
    purged,
    purged_hash: purgedHash,
    purged_key_id: purgedKeyId,
    purged_seal: purgedSeal,
  })
  const setStart = (chain: Chain) => tables().updateTable(chainsTable).set(startOf(chain)).where('chain', '=', chain.chain)

  const store: AuditStore = {
    get batchLimits() {
      return maxParameters(tables()) <= proxiedParameters ? proxied : direct
    },
    async open(chain, register) {
      const known = await store.chain(registerChain)
      const insertChain = tables().insertInto(chainsTable).values(rowOfChain(chain))
      // Retention may have moved the start of the register meanwhile.
      const keepStart = setStart(register).where('purged', '=', register.purged)
      const keepRegister =
        known === undefined ? [tables().insertInto(chainsTable).values(rowOfChain(register))] : [setHead(register), keepStart]
      try {
        await database.batch([insertChain, ...keepRegister])
        return true
      } catch (error) {
        if (!database.isUniqueViolation(error)) throw error
        // An earlier attempt may have succeeded without a response.
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
    async impossible() {
      const { sql } = await import('kysely')
      const isSqlite = database.dialect === 'sqlite'
      // A primary key of SQLite may be null, a fraction or text.
      const isOdd = (column: 'id' | 'chain', [least, most]: readonly [number, number]): Expression<SqlBool> =>
        isSqlite
          ? sql<SqlBool>`(typeof(${sql.ref(column)}) <> 'integer' or ${sql.ref(column)} not between ${least} and ${most})`
          : sql<SqlBool>`${sql.ref(column)} not between ${least} and ${most}`
      const ids = [1, Number.MAX_SAFE_INTEGER] as const
      const entry = await tables().selectFrom(entriesTable).select('id').where(isOdd('id', ids)).limit(1).executeTakeFirst()
      if (entry !== undefined) return `an entry with the id ${entry.id} was added: the log has no such ids`
      const numbers = [registerChain, lastChain] as const
      const chain = await tables().selectFrom(chainsTable).select('chain').where(isOdd('chain', numbers)).limit(1).executeTakeFirst()
      if (chain !== undefined) return `a chain with the number ${chain.chain} was added: the log has no such numbers`
      if (!isSqlite) return undefined
      // A driver of SQLite may read a text up to its first NUL only, but compares the whole one.
      const hasNul = (columns: readonly string[]): Expression<SqlBool> =>
        sql<SqlBool>`(${sql.join(
          columns.map((column) => sql`instr(cast(${sql.ref(column)} as blob), x'00') > 0`),
          sql` or `,
        )})`
      const [altered] = await tables().selectFrom(entriesTable).select('id').where(hasNul(textColumns)).limit(1).execute()
      if (altered !== undefined) return nulText(`entry ${altered.id}`)
      const chains = tables().selectFrom(chainsTable)
      const row = await chains.selectAll().limit(1).executeTakeFirst()
      if (row === undefined) return undefined
      const [changed] = await chains
        .select('chain')
        .where(hasNul(chainTexts.filter((column) => column in row)))
        .limit(1)
        .execute()
      return changed && nulText(Number(changed.chain) === registerChain ? 'the register of chains' : `chain ${changed.chain}`)
    },
    async hashes(ids) {
      const rows = await tables()
        .selectFrom(entriesTable)
        .select(['id', 'hash'])
        .where(await inList(tables(), 'id', ids))
        .execute()
      return new Map(rows.map(({ hash, id }) => [Number(id), hash]))
    },
    async chain(chain) {
      const row = await tables().selectFrom(chainsTable).selectAll().where('chain', '=', chain).executeTakeFirst()
      return row && chainOfRow(row)
    },
    async chains(after, limit) {
      const above = tables().selectFrom(chainsTable).selectAll().where('chain', '>', after).where('chain', '<=', lastChain)
      const whole = database.dialect === 'sqlite' ? above.where((eb) => eb(eb.fn<string>('typeof', ['chain']), '=', 'integer')) : above
      const rows = await whole.orderBy('chain').limit(limit).execute()
      return rows.map(chainOfRow)
    },
    async replaceSeals(read, sealed) {
      const { numUpdatedRows } = await tables()
        .updateTable(chainsTable)
        .set({ ...headOf(sealed), ...startOf(sealed) })
        .where('chain', '=', read.chain)
        .where('seal', '=', read.seal)
        .where('purged', '=', read.purged)
        .executeTakeFirstOrThrow()
      return Number(numUpdatedRows) > 0
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
