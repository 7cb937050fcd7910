import type { Kysely } from 'kysely'
import type { Clock, DataRecord, DataStore } from 'zin'
import { type Database, upsertRows } from 'zin/plugins/database'
import { type RedisClient, scanKeys, scanPattern } from 'zin/plugins/redis'
import { idOf } from './db.js'

/** Keys that are read or written at a time. */
const atOnce = 200
/** `of` of the records: keys, and rows of which the key is not known. */
const [named, unnamed] = ['keys', 'unnamed'] as const
/** The key that exists while an import is under way. */
const markKey = 'zin:import'

interface Entry {
  /** Undefined: it is not known. */
  readonly key: string | undefined
  readonly id: string
  readonly value: string
  /** ms since 1970; undefined: never. */
  readonly expiresAt: number | undefined
}

/** Returns the entry of a record. Throws an error that says what is wrong. */
function entryOf({ expiresAt, id, key, of, value }: DataRecord): Entry {
  if (typeof value !== 'string') throw new Error('the value of a key is not a text')
  if (expiresAt !== undefined && !(Number.isSafeInteger(expiresAt) && Number(expiresAt) >= 0))
    throw new Error('the expiry of a key is not a whole number of ms since 1970')
  const rest = { value, expiresAt: expiresAt as number | undefined }
  if (of === unnamed) {
    if (typeof id !== 'string' || !/^[0-9a-f]{64}$/.test(id)) throw new Error('an entry without a key has no id of 64 hex digits')
    return { key: undefined, id, ...rest }
  }
  if (of !== named) throw new Error(`"${of.slice(0, 50)}" is neither "${named}" nor "${unnamed}"`)
  if (typeof key !== 'string') throw new Error('a record has no key')
  if (/\0|\p{Surrogate}/u.test(key + value)) throw new Error('a key or its value contains NUL or a lone surrogate')
  return { key, id: idOf(key), ...rest }
}

function recordOf({ expiresAt, id, key, value }: Entry): DataRecord {
  const ends = expiresAt === undefined ? {} : { expiresAt }
  return key === undefined ? { of: unnamed, id, value, ...ends } : { of: named, key, value, ...ends }
}

const unnamedNote = (count: number): string =>
  `${count} entries of the key-value store were written by an earlier version, which did not store their keys: they can be imported into tables, but not into Redis. An entry gets its key when it is read or written: run the app for a while, run "zin audit:verify", and export again`

export interface TableDataParts {
  readonly database: Database
  readonly clock: Clock
  readonly birthKey: string
}

/** The rows of zin_kv. */
export function tableData({ birthKey, clock, database }: TableDataParts): DataStore {
  interface Tables {
    zin_kv: { id: string; name: string | null; value: string; expires_at: number | null }
  }
  const tables = (): Kysely<Tables> => database.tables<Tables>()
  const markId = idOf(markKey)
  const shared = database.dialect === 'mysql'
  return {
    where: database.dialect === 'mysql' ? 'MySQL or MariaDB' : 'SQLite',
    async size() {
      // The start of any command writes this one.
      const query = tables()
        .selectFrom('zin_kv')
        .select(tables().fn.countAll().as('n'))
        .where('id', 'not in', [idOf(birthKey), markId])
        .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', clock.now())]))
      return Number((await query.executeTakeFirstOrThrow()).n)
    },
    counts: ({ id, key }) => key !== birthKey && id !== idOf(birthKey),
    async *read() {
      let nameless = 0
      let birth: Entry | undefined
      for (let last = ''; ; ) {
        const rows = await tables().selectFrom('zin_kv').selectAll().where('id', '>', last).orderBy('id').limit(atOnce).execute()
        for (const { expires_at, id, name, value } of rows) {
          if (id === markId || (expires_at !== null && Number(expires_at) <= clock.now())) continue
          const entry = { id, key: name ?? undefined, value, expiresAt: expires_at === null ? undefined : Number(expires_at) }
          if (id === idOf(birthKey)) birth = entry
          else {
            if (name === null) nameless++
            yield recordOf(entry)
          }
        }
        if (rows.length < atOnce) {
          // Who leaves out entries without keys leaves out revocations: a store without its birth refuses every token from before the import.
          if (birth !== undefined) yield recordOf({ ...birth, key: nameless === 0 ? birthKey : undefined })
          return nameless === 0 ? [] : [unnamedNote(nameless)]
        }
        last = rows.at(-1)?.id ?? ''
      }
    },
    checker: () => (record) => void entryOf(record),
    async write(records) {
      const rows = records
        .map(entryOf)
        .map(({ expiresAt = null, id, key = null, value }) => ({ id, name: key, value, expires_at: expiresAt }))
      // SCAN of Redis may have returned a key twice.
      await upsertRows(tables(), {
        table: 'zin_kv',
        key: ['id'],
        rows: [...new Map(rows.map((row) => [row.id, row])).values()],
        existing: 'replace',
      })
    },
    clear: async () => void (await tables().deleteFrom('zin_kv').where('id', '!=', markId).execute()),
    ...(shared && {
      async mark(importing: boolean) {
        const row = { id: markId, name: markKey, value: '1', expires_at: null }
        if (importing) await upsertRows(tables(), { table: 'zin_kv', key: ['id'], rows: [row], existing: 'keep' })
        else await tables().deleteFrom('zin_kv').where('id', '=', markId).execute()
      },
      marked: async () => (await tables().selectFrom('zin_kv').select('id').where('id', '=', markId).executeTakeFirst()) !== undefined,
    }),
  }
}

export interface RedisDataParts {
  readonly client: RedisClient
  readonly clock: Clock
  readonly birthKey: string
  /** Of all keys. */
  readonly prefix: string
}

/** The keys in Redis whose value is a text. The others belong to plugins, which move them themselves. */
export function redisData({ birthKey, client, clock, prefix }: RedisDataParts): DataStore {
  const keys = async function* (): AsyncGenerator<readonly string[], void, undefined> {
    for await (const found of scanKeys(client, `${scanPattern(prefix)}*`)) {
      for (let from = 0; from < found.length; from += atOnce) {
        const some = found.slice(from, from + atOnce).map((key) => key.slice(prefix.length))
        const types = await Promise.all(some.map((key) => client.type(key)))
        yield some.filter((key, i) => types[i] === 'string' && key !== markKey)
      }
    }
  }
  return {
    where: 'Redis',
    async size() {
      let count = 0
      for await (const some of keys()) count += some.filter((key) => key !== birthKey).length
      return count
    },
    counts: ({ key }) => key !== birthKey,
    async *read() {
      for await (const some of keys()) {
        const [values, left] = await Promise.all([
          Promise.all(some.map((key) => client.get(key))),
          Promise.all(some.map((key) => client.pttl(key))),
        ])
        const now = clock.now()
        for (const [i, key] of some.entries()) {
          const value = values[i] ?? null
          const ms = left[i] ?? -2
          if (value !== null && ms !== -2) yield recordOf({ id: '', key, value, expiresAt: ms < 0 ? undefined : now + ms })
        }
      }
      return []
    },
    checker: () => (record) => {
      if (entryOf(record).key === undefined)
        throw new Error(
          'this entry of the key-value store has no key, because an earlier version wrote it, and Redis needs one. Run the exported app for a while, run "zin audit:verify", and export again; or leave such entries out with --without kv/unnamed',
        )
    },
    async write(records) {
      await Promise.all(
        records.map(entryOf).map(async ({ expiresAt, key = '', value }) => {
          if (expiresAt === undefined) await client.set(key, value)
          else if (expiresAt > clock.now()) await client.set(key, value, 'PXAT', expiresAt)
        }),
      )
    },
    async clear() {
      for await (const some of keys()) await Promise.all(some.map((key) => client.unlink(key)))
    },
    mark: async (importing) => void (await (importing ? client.set(markKey, '1') : client.del(markKey))),
    marked: async () => (await client.exists(markKey)) === 1,
  }
}
