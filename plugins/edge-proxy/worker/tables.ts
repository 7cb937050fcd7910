import type { EdgeStatement } from './d1.js'
import type { TimedDatabase } from './timed-database.js'

/** Tables of the proxy, beside those of its user. No statement of a caller may name them. */
const tables = [
  'CREATE TABLE IF NOT EXISTS zin_edge_nonces (nonce TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE INDEX IF NOT EXISTS zin_edge_nonces_until ON zin_edge_nonces (until)',
  'CREATE TABLE IF NOT EXISTS zin_edge_rates (key_id TEXT PRIMARY KEY, minute INTEGER NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS zin_edge_receipts (receipt TEXT NOT NULL, step INTEGER NOT NULL, body_hash TEXT, changes INTEGER, last_row_id INTEGER, response TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (receipt, step)) WITHOUT ROWID',
  'CREATE INDEX IF NOT EXISTS zin_edge_receipts_created_at ON zin_edge_receipts (created_at)',
]

export async function createTables(db: TimedDatabase): Promise<void> {
  await db.batch(tables.map((sql) => db.prepare(sql)))
}

/** Fails when the nonce was used before. */
export function claimNonce(db: TimedDatabase, nonce: string, until: number): EdgeStatement {
  return db.prepare('INSERT INTO zin_edge_nonces (nonce, until) VALUES (?1, ?2)').bind(nonce, until)
}

/** Counts a request; fails when the key has used its rate up. */
export function countRequest(db: TimedDatabase, keyId: string, minute: number, most: number): EdgeStatement {
  return db
    .prepare(
      'INSERT INTO zin_edge_rates (key_id, minute, used) VALUES (?1, ?2, 1) ON CONFLICT (key_id) DO UPDATE SET used = CASE WHEN minute <> ?2 THEN 1 WHEN used >= ?3 THEN NULL ELSE used + 1 END, minute = ?2',
    )
    .bind(keyId, minute, most)
}

/** Fails when the key of the receipt is known; an expired receipt is replaced. */
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

/** Keeps what the write before it did. */
export function keepChanges(db: TimedDatabase, receipt: string, step: number, now: number): EdgeStatement {
  return db
    .prepare(
      'INSERT INTO zin_edge_receipts (receipt, step, changes, last_row_id, created_at) VALUES (?1, ?2, changes(), last_insert_rowid(), ?3)',
    )
    .bind(receipt, step, now)
}

/** Keeps the whole response of a request whose rows cannot be made again. */
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

/** The id of the row that the write before it inserted. */
export function lastRowId(db: TimedDatabase): EdgeStatement {
  return db.prepare('SELECT CAST(last_insert_rowid() AS TEXT) AS id')
}

const tooManyChanges = 'zin_edge_too_many_changes'

/** Fails when the write before it changed more rows. */
export function limitChanges(db: TimedDatabase, most: number): EdgeStatement {
  return db.prepare(`SELECT json_extract('{}', CASE WHEN changes() > ?1 THEN '${tooManyChanges}' ELSE '$' END)`).bind(most)
}

const probe = 'zin_edge_probe'

/** Always fails: what ran before it in the batch is rolled back. */
export function alwaysFails(db: TimedDatabase): EdgeStatement {
  return db.prepare(`SELECT json_extract('{}', '${probe}')`)
}

/** Deletes what has expired, a bounded number of rows. */
export async function sweepTables(db: TimedDatabase, now: number, receiptMs: number): Promise<void> {
  await db.batch([
    db.prepare('DELETE FROM zin_edge_nonces WHERE nonce IN (SELECT nonce FROM zin_edge_nonces WHERE until < ?1 LIMIT 5000)').bind(now),
    db.prepare('DELETE FROM zin_edge_rates WHERE minute < ?1').bind(Math.floor(now / 60_000) - 1),
    db
      .prepare('DELETE FROM zin_edge_receipts WHERE receipt IN (SELECT receipt FROM zin_edge_receipts WHERE created_at < ?1 LIMIT 1000)')
      .bind(now - receiptMs),
  ])
}

/** What the failure of a statement of this file means; undefined for other errors. */
export function ownFailure(message: string): 'replayed' | 'rate' | 'receipt' | 'changes' | 'tables' | 'probe' | undefined {
  if (/UNIQUE constraint failed: zin_edge_nonces\b/.test(message)) return 'replayed'
  if (/NOT NULL constraint failed: zin_edge_rates\b/.test(message)) return 'rate'
  if (/UNIQUE constraint failed: zin_edge_receipts\b/.test(message)) return 'receipt'
  if (/no such table: (main\.)?zin_edge_/.test(message)) return 'tables'
  if (message.includes(tooManyChanges)) return 'changes'
  return message.includes(probe) ? 'probe' : undefined
}
