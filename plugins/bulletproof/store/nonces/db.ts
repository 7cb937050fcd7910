import type { Clock } from 'zin'
import { type Database, deleteBefore } from 'zin/plugins/database'
import { ownLookup } from '../lookup.js'
import type { NonceStore } from './contract.js'
import { CLOCK_TOLERANCE_MS } from './ledger.js'

interface NonceRow {
  readonly id: string
  readonly created_at: number
  readonly expires_at: number
}

const TABLE = 'bulletproof_nonces'
/** Id of a row that never expires and holds the birth time of the table. */
const BIRTH = 'since'

/** Nonces in the table `bulletproof_nonces`. */
export function dbNonces(databaseNow: () => Database, clock: Clock): NonceStore {
  const tables = () => databaseNow().tables<{ [TABLE]: NonceRow }>()
  const read = (ids: readonly string[]) => tables().selectFrom(TABLE).selectAll().where('id', 'in', ids).execute()
  const begin = async (): Promise<number> => {
    await markBirth(databaseNow(), clock)
    const [row] = await read([BIRTH])
    return row === undefined ? clock.now() : Number(row.created_at)
  }

  return {
    driver: 'db',
    glance: (keys) =>
      ownLookup(async () => {
        const rows = await read([BIRTH, ...keys])
        const birth = rows.find((row) => row.id === BIRTH)
        return { birth: birth === undefined ? await begin() : Number(birth.created_at), seen: rows.some((row) => row.id !== BIRTH) }
      }),
    // Kept longer than the request is valid here: the clock of the process that sweeps may be ahead of one that would still accept it.
    claim: (key, until) =>
      databaseNow().insertIfAbsent(TABLE, ['id'], { id: key, created_at: clock.now(), expires_at: until + 2 * CLOCK_TOLERANCE_MS }),
    async open() {
      await begin()
    },
    async sweep() {
      await deleteBefore(tables(), { table: TABLE, key: ['id'], column: 'expires_at', before: clock.now() })
    },
  }
}

/** Writes the birth time of the table. Returns true when there was none. */
export function markBirth(database: Database, clock: Clock): Promise<boolean> {
  return database.insertIfAbsent(TABLE, ['id'], { id: BIRTH, created_at: clock.now(), expires_at: Number.MAX_SAFE_INTEGER })
}
