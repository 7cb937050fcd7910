import type { Clock } from 'zin'
import type { Database } from 'zin/plugins/database'
import { readOne } from '../lookup.js'
import { dbNonces, markBirth } from './db.js'
import { CLOCK_TOLERANCE_MS, type Ledger } from './ledger.js'

/** A ledger in the table `bulletproof_nonces`, shared by all processes of the app. */
export function dbLedger(databaseNow: () => Database, clock: Clock): Ledger {
  const table = dbNonces(databaseNow, clock)
  return {
    driver: 'db',
    aheadMs: CLOCK_TOLERANCE_MS,
    marginMs: 2 * CLOCK_TOLERANCE_MS,
    begin: () => markBirth(databaseNow(), clock),
    has: async (key) => (await readOne(undefined, table.glance([key]))).seen,
    claim: (key, _timestamp, until) => table.claim(key, until),
    sweep: () => table.sweep(),
  }
}
