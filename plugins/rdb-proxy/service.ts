import type { Clock } from 'zin'
import {
  type BatchResult,
  commitsImplicitly,
  type ParsedBatch,
  type ParsedStatement,
  type StatementOptions,
  type StatementResult,
  scanSql,
  WireError,
} from 'zin/plugins/sql-wire'
import type { Allowed, Permissions, Purpose } from './auth/permissions.js'
import type { Call } from './contract.js'
import { changedBy, execResult, oneResult, queryResult, withMeta } from './results.js'
import { LoginError, wireErrorOf } from './sql/db-errors.js'
import type { Gateway, Run, RunResult } from './sql/gateway.js'
import type { Receipt, Receipts } from './sql/receipts.js'
import type { Session } from './sql/session.js'
import { withTimeLimit } from './sql/time-limit.js'
import { Transaction } from './sql/transaction.js'

export interface RdbProxyParts {
  readonly gateway: Gateway
  readonly permissions: Permissions
  readonly receipts: Receipts
  readonly clock: Clock
  readonly maxTimeoutMs: number
  /** Whether responses include messages of the database, which may quote values. */
  readonly showMessages: boolean
  /** Throws or rejects while reads are not allowed. Returns a promise only if there is something to wait for. */
  readonly checkReads: () => void | Promise<void>
}

/** The operations of the proxy, without HTTP. Methods throw WireErrors. */
export class RdbProxy {
  readonly #parts: RdbProxyParts

  constructor(parts: RdbProxyParts) {
    this.#parts = parts
  }

  /** `query` and `queryOne`. */
  query(call: Call, request: ParsedStatement, one: boolean): Promise<StatementResult> {
    return this.#read(call, this.#parts.permissions.check(call.key, 'query', request), request.options, one)
  }

  /** `exec`. */
  async exec(call: Call, request: ParsedStatement): Promise<StatementResult> {
    return this.#write(call, this.#parts.permissions.check(call.key, 'exec', request), request.options)
  }

  /** `statement`: a read or a write, depending on the registered statement. */
  async statement(call: Call, request: ParsedStatement): Promise<StatementResult> {
    const allowed = this.#parts.permissions.check(call.key, 'statement', request)
    const one = allowed.registered?.one === true
    return allowed.reads ? this.#read(call, allowed, request.options, one) : this.#write(call, allowed, request.options)
  }

  /** `batch`. */
  async batch(call: Call, { statements, options }: ParsedBatch): Promise<BatchResult> {
    const { mode = 'transaction', readOnly = false, isolation, idempotencyKey } = options
    if (mode === 'sequence' && (isolation !== undefined || idempotencyKey !== undefined))
      throw new WireError('VALIDATION_ERROR', '"options.isolation" and "options.idempotencyKey" are for the mode "transaction"')
    const purpose: Purpose = readOnly ? 'query' : 'exec'
    const allowed = statements.map((statement, index) =>
      atIndex(index, () => {
        const checked = this.#parts.permissions.check(call.key, purpose, statement)
        if (mode === 'transaction' && checked.ddl) throw ddlInTransaction()
        return checked
      }),
    )
    const shapes = statements.map(({ one = false }) => one)
    if (readOnly) await this.#parts.checkReads()
    return mode === 'transaction'
      ? this.#batchInTransaction(call, allowed, shapes, options)
      : this.#batchInSequence(call, allowed, shapes, options, readOnly)
  }

  async #batchInTransaction(
    call: Call,
    allowed: readonly Allowed[],
    shapes: readonly boolean[],
    options: ParsedBatch['options'],
  ): Promise<BatchResult> {
    const { readOnly = false, isolation } = options
    const work = async (session: Session): Promise<BatchResult> => {
      const results: StatementResult[] = []
      let bytes = call.key.maxBytes
      for (const [index, one] of allowed.entries()) {
        const result = await atIndexAsync(index, () => this.#runOn(session, call, one, options, bytes), { committed: false })
        bytes -= result.collected.bytes
        results.push(shapeOf(result, shapes[index] === true, one))
      }
      return { ok: true, results, committed: true, meta: {} }
    }
    const kind = readOnly ? 'reading' : 'writing'
    const body = await this.#transaction(call, options, kind, isolation, work).catch((error: unknown) => {
      throw error instanceof WireError && error.body?.committed === undefined ? error.with({ body: { committed: false } }) : error
    })
    return { ...body, meta: { ...body.meta, requestId: call.requestId } }
  }

  async #batchInSequence(
    call: Call,
    allowed: readonly Allowed[],
    shapes: readonly boolean[],
    options: ParsedBatch['options'],
    readOnly: boolean,
  ): Promise<BatchResult> {
    const results: StatementResult[] = []
    let bytes = call.key.maxBytes
    const work = async (session: Session): Promise<void> => {
      for (const [index, one] of allowed.entries()) {
        const run = () => this.#runOn(session, call, one, options, bytes)
        const result = await atIndexAsync(index, run, { committed: false, results })
        bytes -= result.collected.bytes
        results.push(shapeOf(result, shapes[index] === true, one))
      }
    }
    await this.#guarded(readOnly, () => this.#parts.gateway.use(readOnly ? 'reading' : 'writing', work))
    return { ok: true, results, committed: true, meta: { requestId: call.requestId } }
  }

  async #read(call: Call, allowed: Allowed, options: StatementOptions, one: boolean): Promise<StatementResult> {
    const { checkReads, gateway } = this.#parts
    const checking = checkReads()
    if (checking !== undefined) await checking
    try {
      const result = await gateway.run(this.runOf(call, allowed, options))
      return one ? oneResult(result, call.requestId) : queryResult(result, call.requestId)
    } catch (error) {
      throw this.#wire(error, true)
    }
  }

  async #write(call: Call, allowed: Allowed, options: StatementOptions): Promise<StatementResult> {
    const { idempotencyKey } = options
    const maxChanges = allowed.registered?.maxChanges
    if (idempotencyKey === undefined && maxChanges === undefined) {
      const repeatable = allowed.registered?.idempotent === true
      const result = await this.#guarded(repeatable, () => this.#parts.gateway.run(this.runOf(call, allowed, options)))
      return execResult(result, call.requestId)
    }
    if (allowed.ddl || commitsImplicitly(scanSql(allowed.sql, 'mysql'))) throw ddlInTransaction()
    const work = async (session: Session): Promise<StatementResult> => {
      const result = await this.#runOn(session, call, allowed, options, call.key.maxBytes)
      return execResult(result)
    }
    const body = await this.#transaction(call, options, 'writing', undefined, work)
    return withMeta(body, { requestId: call.requestId })
  }

  /** Runs work in a transaction, together with its receipt if there is an idempotency key. Returns the stored response of a repeated request. */
  async #transaction<R extends BatchResult | StatementResult>(
    { key, hash }: Call,
    options: StatementOptions,
    kind: 'reading' | 'writing',
    isolation: string | undefined,
    work: (session: Session) => Promise<R>,
  ): Promise<R> {
    const { gateway, receipts, clock, maxTimeoutMs } = this.#parts
    const { idempotencyKey } = options
    const receipt: Receipt | undefined =
      idempotencyKey === undefined || kind === 'reading' ? undefined : { keyId: key.id, idempotencyKey, hash: hash() }
    return this.#guarded(receipt !== undefined || kind === 'reading', () =>
      gateway.use(kind, async (session) => {
        const kill = gateway.killerOf(kind === 'reading')
        const own = { timeoutMs: maxTimeoutMs, reads: false }
        if (receipt !== undefined) await withTimeLimit(session, kill, own, () => receipts.prepare(session))
        const transaction = await Transaction.begin(session, { kill, isolation, timeoutMs: maxTimeoutMs })
        return transaction.run(async () => {
          if (receipt === undefined) return work(session)
          const waitMs = Math.min(options.timeoutMs ?? key.timeoutMs, maxTimeoutMs)
          if (await transaction.own(() => receipts.begin(session, receipt, clock.now()), waitMs).catch(stillRunning)) {
            const body = await work(session)
            await transaction.own(() => receipts.complete(session, receipt, JSON.stringify(body)))
            return body
          }
          const kept = JSON.parse(await transaction.own(() => receipts.find(session, receipt))) as R
          return { ...kept, meta: { ...kept.meta, replayed: true } }
        })
      }),
    )
  }

  async #runOn(session: Session, call: Call, allowed: Allowed, options: StatementOptions, maxBytes: number): Promise<RunResult> {
    const run = this.runOf(call, allowed, options, Math.max(1, maxBytes))
    const result = await this.#guarded(false, () => this.#parts.gateway.runOn(session, run))
    const most = allowed.registered?.maxChanges
    const changed = changedBy(result.changes, result.collected.rows.length)
    if (most !== undefined && changed > most)
      throw new WireError('TOO_MANY_CHANGES', `The statement would change ${changed} rows; the maximum is ${most}`, {
        details: { limit: most },
      })
    return result
  }

  /** Returns the statement to run, with the limits of key, statement and request applied. */
  runOf({ key, client }: Call, { sql, params, reads, ddl, registered }: Allowed, options: StatementOptions, maxBytes = key.maxBytes): Run {
    const asked = options.timeoutMs ?? registered?.timeoutMs ?? key.timeoutMs
    return {
      sql,
      params,
      reads,
      ddl,
      client,
      rowMode: options.rowMode ?? 'object',
      encoding: options.encoding ?? 'typed',
      maxRows: Math.min(options.maxRows ?? key.maxRows, registered?.maxRows ?? key.maxRows, key.maxRows),
      maxBytes,
      timeoutMs: Math.min(asked, registered?.timeoutMs ?? asked, this.#parts.maxTimeoutMs),
    }
  }

  /** @param repeatable whether the request can be repeated safely after an unknown outcome. */
  async #guarded<T>(repeatable: boolean, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw this.#wire(error, repeatable)
    }
  }

  #wire(error: unknown, repeatable: boolean): unknown {
    return outcomeOf(wireErrorOf(error, { reads: repeatable, showMessage: this.#parts.showMessages }), repeatable)
  }

  get parts(): RdbProxyParts {
    return this.#parts
  }
}

/** While another request with the same key runs, it holds the lock on the receipt. */
function stillRunning(error: unknown): never {
  if (!(error instanceof WireError) || error.code !== 'QUERY_TIMEOUT') throw error
  throw new WireError('IDEMPOTENCY_IN_PROGRESS', 'A request with this idempotency key is still running', { cause: error })
}

/** Marks a write whose connection was lost: its outcome is unknown, so it is not retryable. */
export function outcomeOf(error: unknown, repeatable: boolean): unknown {
  if (!(error instanceof WireError)) return error
  if (repeatable && error.code === 'QUERY_TIMEOUT') return copyOf(error, true)
  const lost = !repeatable && error.code === 'DB_UNAVAILABLE' && wasLost(error.cause)
  return lost ? copyOf(error.with({ details: { outcome: 'unknown' } }), false) : error
}

/** Returns whether an open connection was lost: no failed login, and no error reported by the server. */
function wasLost(cause: unknown): boolean {
  if (cause instanceof LoginError) return false
  const { errno } = (cause ?? {}) as { readonly errno?: unknown }
  // System errors have negative numbers.
  return typeof errno !== 'number' || errno < 0
}

function copyOf({ code, message, details, body, cause }: WireError, retryable: boolean): WireError {
  return new WireError(code, message, { retryable, ...(details && { details }), ...(body && { body }), cause })
}

function shapeOf(result: RunResult, one: boolean, { reads }: Allowed): StatementResult {
  const isRead = reads || result.changes === undefined
  if (!isRead) return execResult(result)
  return one ? oneResult(result) : queryResult(result)
}

function ddlInTransaction(): WireError {
  return new WireError(
    'DDL_IN_TRANSACTION',
    'MySQL commits the transaction before it changes the schema; send it by itself, or use the mode "sequence"',
  )
}

function withIndex(
  error: unknown,
  failedIndex: number,
  body: { readonly committed?: false; readonly results?: readonly StatementResult[] },
): unknown {
  return error instanceof WireError ? error.with({ details: { failedIndex }, body: { failedIndex, ...body } }) : error
}

function atIndex<T>(index: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw withIndex(error, index, { committed: false })
  }
}

async function atIndexAsync<T>(index: number, work: () => Promise<T>, body: Parameters<typeof withIndex>[2]): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw withIndex(error, index, body)
  }
}
