import type { Isolation } from 'zin/plugins/sql-wire'
import type { Session } from './session.js'
import { type KillQuery, withTimeLimit } from './time-limit.js'

export interface TransactionOptions {
  readonly kill: KillQuery
  readonly isolation?: string | undefined
  /** Time limit of each of its own statements, such as the commit, in ms. */
  readonly timeoutMs: number
}

const levels = {
  'read uncommitted': 'READ UNCOMMITTED',
  'read committed': 'READ COMMITTED',
  'repeatable read': 'REPEATABLE READ',
  serializable: 'SERIALIZABLE',
} as const satisfies Record<Isolation, string>

/** A transaction on a session. */
export class Transaction {
  readonly #session: Session
  readonly #options: TransactionOptions

  static async begin(session: Session, options: TransactionOptions): Promise<Transaction> {
    const transaction = new Transaction(session, options)
    const { isolation } = options
    if (isolation !== undefined)
      await transaction.own(() => session.command(`SET TRANSACTION ISOLATION LEVEL ${levels[isolation as Isolation]}`))
    await transaction.own(() => session.command('START TRANSACTION'))
    return transaction
  }

  private constructor(session: Session, options: TransactionOptions) {
    this.#session = session
    this.#options = options
  }

  /** Runs work and commits; rolls back if the work throws. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      await this.commit()
      return result
    } catch (error) {
      await this.rollback()
      throw error
    }
  }

  async commit(): Promise<void> {
    await this.own(() => this.#session.command('COMMIT'))
  }

  /** Never throws: a connection that cannot roll back is closed, which has the same effect. */
  async rollback(): Promise<void> {
    if (this.#session.broken) return
    await this.own(() => this.#session.command('ROLLBACK')).catch(() => this.#session.discard())
  }

  /** Runs a statement of the proxy itself within the time limit. */
  own<T>(work: () => Promise<T>, timeoutMs = this.#options.timeoutMs): Promise<T> {
    return withTimeLimit(this.#session, this.#options.kill, { timeoutMs, reads: false }, work)
  }
}
