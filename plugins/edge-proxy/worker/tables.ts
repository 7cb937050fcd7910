import type { EdgeStatement } from './d1.js'
import type { TimedDatabase } from './timed-database.js'

/** Tables of the proxy, in the same database as those of its users. No statement of a caller may name them. */
const tables = [
  'CREATE TABLE IF NOT EXISTS zin_edge_nonces (nonce TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE INDEX IF NOT EXISTS zin_edge_nonces_until ON zin_edge_nonces (until)',
  'CREATE TABLE IF NOT EXISTS zin_edge_rates (key_id TEXT PRIMARY KEY, minute INTEGER NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS zin_edge_receipts (receipt TEXT NOT NULL, step INTEGER NOT NULL, body_hash TEXT, changes INTEGER, last_row_id INTEGER, response TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (receipt, step)) WITHOUT ROWID',
  'CREATE INDEX IF NOT EXISTS zin_edge_receipts_created_at ON zin_edge_receipts (created_at)',
]

/** Rows deleted by one sweep. */
const sweepRows = { nonces: 5000, receipts: 1000 }

export async function createTables(db: TimedDatabase): Promise<void> {
  await db.batch(tables.map((sql) => db.prepare(sql)))
}

/** Fails if the nonce was used before. */
export function claimNonce(db: TimedDatabase, nonce: string, until: number): EdgeStatement {
  return db.prepare('INSERT INTO zin_edge_nonces (nonce, until) VALUES (?1, ?2)').bind(nonce, until)
}

/** Counts a request; fails if the key has reached its rate limit. */
export function countRequest(db: TimedDatabase, keyId: string, minute: number, most: number): EdgeStatement {
  return db
    .prepare(
      'INSERT INTO zin_edge_rates (key_id, minute, used) VALUES (?1, ?2, 1) ON CONFLICT (key_id) DO UPDATE SET used = CASE WHEN minute <> ?2 THEN 1 WHEN used >= ?3 THEN NULL ELSE used + 1 END, minute = ?2',
    )
    .bind(keyId, minute, most)
}

/** Fails if the receipt exists; replaces an expired one. */
export function claimReceipt(db: TimedDatabase, receipt: string, bodyHash: string, now: number, keptMs: number): readonly EdgeStatement[] {
  return [
    db
      .prepare(
        'DELETE FROM zin_edge_receipts WHERE receipt = ?1 AND EXISTS (SELECT 1 FROM zin_edge_receipts WHERE receipt = ?1 AND step = -1 AND created_at < ?2)',
      )
      .bind(receipt, now - keptMs),
    db.prepare('INSERT INTO zin_edge_receipts (receipt, step, body_hash, created_at) VALUES (?1, -1, ?2, ?3)').bind(receipt, bodyHash, now),
  ]
}

/** Stores the changes of the preceding write. */
export function keepChanges(db: TimedDatabase, receipt: string, step: number, now: number): EdgeStatement {
  return db
    .prepare(
      'INSERT INTO zin_edge_receipts (receipt, step, changes, last_row_id, created_at) VALUES (?1, ?2, changes(), last_insert_rowid(), ?3)',
    )
    .bind(receipt, step, now)
}

/** Stores the whole response of a request with result rows, which cannot be reproduced. */
export function keepResponse(db: TimedDatabase, receipt: string, response: string): EdgeStatement {
  return db.prepare('UPDATE zin_edge_receipts SET response = ?2 WHERE receipt = ?1 AND step = -1').bind(receipt, response)
}

export function readReceipt(db: TimedDatabase, receipt: string): EdgeStatement {
  return db
    .prepare(
      'SELECT step, body_hash, changes, CAST(last_row_id AS TEXT) AS last_row_id, response FROM zin_edge_receipts WHERE receipt = ?1 ORDER BY step',
    )
    .bind(receipt)
}

/** Returns the id of the row inserted by the preceding write. */
export function lastRowId(db: TimedDatabase): EdgeStatement {
  return db.prepare('SELECT CAST(last_insert_rowid() AS TEXT) AS id')
}

const tooManyChanges = 'zin_edge_too_many_changes'

/** Fails if the preceding write changed more rows. */
export function limitChanges(db: TimedDatabase, most: number): EdgeStatement {
  return db.prepare(`SELECT json_extract('{}', CASE WHEN changes() > ?1 THEN '${tooManyChanges}' ELSE '$' END)`).bind(most)
}

const probe = 'zin_edge_probe'

/** Always fails, so that the preceding statements of the batch are rolled back. */
export function alwaysFails(db: TimedDatabase): EdgeStatement {
  return db.prepare(`SELECT json_extract('{}', '${probe}')`)
}

/** Deletes a bounded number of expired rows. Returns whether there may be more. */
export async function sweepTables(db: TimedDatabase, now: number, receiptMs: number): Promise<boolean> {
  const deleteNonces = `DELETE FROM zin_edge_nonces WHERE nonce IN (SELECT nonce FROM zin_edge_nonces WHERE until < ?1 LIMIT ${sweepRows.nonces})`
  const deleteReceipts = `DELETE FROM zin_edge_receipts WHERE receipt IN (SELECT receipt FROM zin_edge_receipts WHERE created_at < ?1 LIMIT ${sweepRows.receipts})`
  const [nonces, receipts] = await db.batch([
    db.prepare(deleteNonces).bind(now),
    db.prepare(deleteReceipts).bind(now - receiptMs),
    db.prepare('DELETE FROM zin_edge_rates WHERE minute < ?1').bind(Math.floor(now / 60_000) - 1),
  ])
  return (nonces?.meta.changes ?? 0) >= sweepRows.nonces || (receipts?.meta.changes ?? 0) >= sweepRows.receipts
}

/** Returns which statement of this file failed; undefined for other errors. */
export function ownFailure(message: string): 'replayed' | 'rate' | 'receipt' | 'changes' | 'tables' | 'probe' | undefined {
  if (/UNIQUE constraint failed: zin_edge_nonces\b/.test(message)) return 'replayed'
  if (/NOT NULL constraint failed: zin_edge_rates\b/.test(message)) return 'rate'
  if (/UNIQUE constraint failed: zin_edge_receipts\b/.test(message)) return 'receipt'
  if (/no such table: (main\.)?zin_edge_/.test(message)) return 'tables'
  if (message.includes(tooManyChanges)) return 'changes'
  return message.includes(probe) ? 'probe' : undefined
}
