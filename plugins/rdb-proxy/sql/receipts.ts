import { WireError } from 'zin/plugins/sql-wire'
import type { Session } from './session.js'

const table = 'zin_proxy_receipts'

/** A response that was kept for an idempotency key. */
export interface Receipt {
  readonly keyId: string
  readonly idempotencyKey: string
  /** Of the request: another one with the same key is a mistake. */
  readonly hash: string
}

/** Responses of writes, kept in the same transaction as the write, so that both are there or neither is. */
export class Receipts {
  #ready: Promise<void> | undefined

  /** Creates the table, once. The session must not be in a transaction. */
  prepare(session: Session): Promise<void> {
    this.#ready ??= session.command(createTable).catch((error: unknown) => {
      this.#ready = undefined
      throw new WireError(
        'CONFIG_ERROR',
        `The table ${table}, which idempotency keys need, cannot be created; grant CREATE to the writing user once`,
        {
          cause: error,
        },
      )
    })
    return this.#ready
  }

  /** Begins a receipt inside of the transaction; false when there is one already. Waits for another request that is writing the same one. */
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
      // Of two that wait for a third which is rolled back, one may be chosen as a deadlock's victim.
      if (errno === 1205 || errno === 1213)
        throw new WireError('IDEMPOTENCY_IN_PROGRESS', 'A request with this idempotency key is running', { cause: error })
      throw error
    }
  }

  /** Completes it, before the commit. */
  async complete(session: Session, { keyId, idempotencyKey }: Receipt, response: string): Promise<void> {
    await session.command(`update ${table} set response = ? where key_id = ? and idem = ?`, [response, keyId, idempotencyKey])
  }

  /** The kept response. Throws IDEMPOTENCY_MISMATCH when it is that of another request. */
  async find(session: Session, { keyId, idempotencyKey, hash }: Receipt): Promise<string> {
    const rows = await session.rows<{ readonly body_hash: string; readonly response: string | null }>(
      `select body_hash, response from ${table} where key_id = ? and idem = ?`,
      [keyId, idempotencyKey],
    )
    const [row] = rows
    if (row === undefined || row.response === null)
      throw new WireError('IDEMPOTENCY_IN_PROGRESS', 'A request with this idempotency key is running')
    if (row.body_hash !== hash) throw new WireError('IDEMPOTENCY_MISMATCH', 'The idempotency key was used for another request')
    return row.response
  }

  /** Forgets receipts made before a time, some thousands at once. */
  async sweep(session: Session, before: number): Promise<void> {
    if (this.#ready !== undefined) await session.command(`delete from ${table} where created_at < ? limit 5000`, [before])
  }
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
