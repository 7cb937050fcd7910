import type { TxRequest, TxState } from 'zin/plugins/sql-wire'
import { type StatementResult, WireError } from 'zin/plugins/sql-wire'
import { allows } from './auth/keys.js'
import type { Call } from './contract.js'
import { execResult, oneResult, queryResult } from './results.js'
import { outcomeOf, type RdbProxy } from './service.js'
import { wireErrorOf } from './sql/db-errors.js'
import { type OpenTransaction, OpenTransactions } from './sql/open-transactions.js'
import type { Session } from './sql/session.js'
import { Transaction } from './sql/transaction.js'

/** A transaction that holds its connection between requests. */
interface Held extends OpenTransaction {
  readonly session: Session
  readonly transaction: Transaction
  readonly reads: boolean
  readonly commit: () => Promise<void>
}

export interface TransactionsOptions {
  readonly proxy: RdbProxy
  readonly enabled: boolean
  readonly idleMs: number
  readonly maxMs: number
  readonly most: number
  /** Whether the app is shutting down; new transactions are then refused, because they would be rolled back. */
  readonly isStopping: () => boolean
}

type TxStatement = Exclude<TxRequest, { readonly action: 'begin' } | { readonly action: 'commit' | 'rollback' }>

function isStatement(request: TxRequest): request is TxStatement {
  return request.action === 'query' || request.action === 'queryOne' || request.action === 'exec'
}

type TxResponse = { readonly ok: true; readonly tx: TxState; readonly meta: object } | (StatementResult & { readonly tx: TxState }) | object

/** Interactive transactions: `begin`, statements, and `commit` or `rollback`, each a separate request. */
export class Transactions {
  readonly #options: TransactionsOptions
  readonly #open: OpenTransactions<Held>
  #beginning = 0

  constructor(options: TransactionsOptions) {
    this.#options = options
    const { idleMs, maxMs, most, proxy } = options
    this.#open = new OpenTransactions({ idleMs, maxMs, most, now: () => proxy.parts.clock.now() })
  }

  async handle(call: Call, request: TxRequest): Promise<TxResponse> {
    if (!this.#options.enabled)
      throw new WireError('NOT_FOUND', 'Interactive transactions are disabled; enable them with RDB_PROXY_TRANSACTIONS=true')
    const meta = { requestId: call.requestId }
    if (request.action === 'begin') return { ok: true, tx: await this.#begin(call, request.options ?? {}), meta }
    if (isStatement(request)) return this.#run(call, request)
    const { value, end } = this.#open.take(request.baton, call.key.id)
    end()
    const committed = request.action === 'commit'
    try {
      await (committed ? value.commit() : value.rollback())
    } catch (error) {
      throw outcomeOf(this.#wire(error), false)
    }
    return { ok: true, committed, meta }
  }

  /** Rolls back all open transactions. */
  close(): Promise<void> {
    return this.#open.close()
  }

  async #begin(
    { key }: Call,
    { isolation, readOnly = false }: { readonly isolation?: string; readonly readOnly?: boolean },
  ): Promise<TxState> {
    const scope = readOnly ? 'rdb:read' : 'rdb:write'
    if (!allows(key.scopes, scope)) throw new WireError('FORBIDDEN_SCOPE', `This key lacks the scope ${scope}`, { details: { scope } })
    if (this.#options.isStopping()) throw new WireError('SHUTTING_DOWN', 'The proxy is shutting down')
    this.#open.checkRoom(this.#beginning)
    const { gateway, checkReads, maxTimeoutMs } = this.#options.proxy.parts
    if (readOnly) await checkReads()
    this.#beginning++
    const begun = new Promise<TxState>((resolve, reject) => {
      // The transaction holds the connection until it ends.
      gateway
        .use(readOnly ? 'reading' : 'writing', async (session) => {
          const options = { kill: gateway.killerOf(readOnly), isolation, timeoutMs: maxTimeoutMs }
          const transaction = await Transaction.begin(session, options)
          await new Promise<void>((release) => {
            let ended: Promise<void> | undefined
            // At most once: after that, the connection belongs to another caller.
            const finish = (work: () => Promise<void>) => (): Promise<void> => {
              ended ??= work().finally(release)
              return ended
            }
            const held: Held = {
              session,
              transaction,
              reads: readOnly,
              commit: finish(() => transaction.commit()),
              rollback: finish(() => transaction.rollback()),
            }
            try {
              resolve(this.#open.add(held, key.id))
            } catch (error) {
              reject(error as Error)
              void held.rollback()
            }
          })
        })
        .catch((error: unknown) => reject(this.#wire(error)))
    })
    return begun.finally(() => {
      this.#beginning--
    })
  }

  /** Runs a statement; a failure or a refusal rolls the transaction back immediately. */
  async #run(call: Call, request: TxStatement): Promise<TxResponse> {
    const { proxy } = this.#options
    const { action, options = {}, params = [] } = request
    const { value, keep, end } = this.#open.take(request.baton, call.key.id)
    try {
      const allowed = proxy.parts.permissions.check(call.key, action === 'exec' ? 'exec' : 'query', { ...request, params })
      if (allowed.ddl) throw new WireError('DDL_IN_TRANSACTION', 'MySQL commits the transaction before it changes the schema')
      if (options.idempotencyKey !== undefined)
        throw new WireError('VALIDATION_ERROR', 'Interactive transactions do not support idempotency keys')
      const result = await proxy.parts.gateway.runOn(value.session, { ...proxy.runOf(call, allowed, options), reads: value.reads })
      const { requestId } = call
      const body =
        action === 'exec'
          ? execResult(result, requestId)
          : action === 'query'
            ? queryResult(result, requestId)
            : oneResult(result, requestId)
      return { ...body, tx: keep() }
    } catch (error) {
      end()
      await value.rollback()
      const wire = this.#wire(error)
      throw wire instanceof WireError ? wire.with({ details: { rolledBack: true } }) : wire
    }
  }

  #wire(error: unknown): unknown {
    return wireErrorOf(error, { reads: false, showMessage: this.#options.proxy.parts.showMessages })
  }
}
