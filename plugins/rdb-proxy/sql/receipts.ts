import { WireError } from 'zin/plugins/sql-wire'
import type { Session } from './session.js'

const table = 'zin_proxy_receipts'
/** Receipts deleted by one statement. */
const sweepRows = 5000

/** Identifies the stored response of an idempotency key. */
export interface Receipt {
  readonly keyId: string
  readonly idempotencyKey: string
  /** Hash of the request, to detect that the key is reused for another one. */
  readonly hash: string
}

/** Privilege errors: table access denied, database access denied. */
const denied: ReadonlySet<unknown> = new Set([1142, 1044])

/** Stores responses of writes in the transaction of the write, so that both are committed or neither is. */
export class Receipts {
  #ready = false

  /** Creates the table if needed, once per process. The session must not be in a transaction. Throws CONFIG_ERROR without the privilege. */
  async prepare(session: Session): Promise<void> {
    if (this.#ready) return
    try {
      await session.command(createTable)
    } catch (error) {
      if (!denied.has((error as { readonly errno?: unknown }).errno)) throw error
      await requireTable(session, error)
    }
    this.#ready = true
  }

  /** Inserts a receipt in the transaction; returns false if there is one already. Waits for another request that is writing the same one. */
  async begin(session: Session, { keyId, idempotencyKey, hash }: Receipt, now: number): Promise<boolean> {
    try {
      await session.command(`insert into ${table} (key_id, idem, body_hash, response, created_at) values (?, ?, ?, null, ?)`, [
        keyId,
        idempotencyKey,
        hash,
        now,
      ])
      return true
    } catch (error) {
      const { errno } = error as { readonly errno?: number }
      if (errno === 1062) return false
      // If two requests wait for a third that is rolled back, one of them may become a deadlock victim.
      if (errno === 1205 || errno === 1213)
        throw new WireError('IDEMPOTENCY_IN_PROGRESS', 'A request with this idempotency key is still running', { cause: error })
      throw error
    }
  }

  /** Stores the response, before the commit. */
  async complete(session: Session, { keyId, idempotencyKey }: Receipt, response: string): Promise<void> {
    await session.command(`update ${table} set response = ? where key_id = ? and idem = ?`, [response, keyId, idempotencyKey])
  }

  /** Returns the stored response. Throws IDEMPOTENCY_MISMATCH if it belongs to another request. */
  async find(session: Session, { keyId, idempotencyKey, hash }: Receipt): Promise<string> {
    const rows = await session.rows<{ readonly body_hash: string; readonly response: string | null }>(
      `select body_hash, response from ${table} where key_id = ? and idem = ?`,
      [keyId, idempotencyKey],
    )
    const [row] = rows
    if (row === undefined || row.response === null)
      throw new WireError('IDEMPOTENCY_IN_PROGRESS', 'A request with this idempotency key is still running')
    if (row.body_hash !== hash) throw new WireError('IDEMPOTENCY_MISMATCH', 'The idempotency key was used for another request')
    return row.response
  }

  /** Deletes a batch of receipts created before a time. Returns whether there may be more. */
  async sweep(session: Session, before: number): Promise<boolean> {
    if (!this.#ready) return false
    return (await session.command(`delete from ${table} where created_at < ? limit ${sweepRows}`, [before])) === sweepRows
  }
}

/** Without CREATE, the server refuses `create table if not exists` even for an existing table. */
async function requireTable(session: Session, cause: unknown): Promise<void> {
  await session.command(`select 1 from ${table} limit 0`).catch(() => {
    throw new WireError(
      'CONFIG_ERROR',
      `The table ${table}, which idempotency keys require, does not exist; create it, or grant CREATE to the writing user`,
      { cause },
    )
  })
}

const createTable = `create table if not exists ${table} (
  key_id varchar(128) character set ascii collate ascii_bin not null,
  idem varchar(128) character set ascii collate ascii_bin not null,
  body_hash char(64) character set ascii not null,
  response longtext character set utf8mb4,
  created_at bigint not null,
  primary key (key_id, idem),
  key ${table}_created_at (created_at)
) engine=InnoDB`
