import type { Isolation, StatementSource, TxState } from '../wire.js'
import type { CallOptions, ProxyTransaction, Result, WriteOptions } from './contract.js'
import { encodeParams } from './params.js'
import { localError, ProxyError } from './proxy-error.js'
import { resultOf } from './result.js'
import { type DecodeOptions, decodeOptions } from './rows.js'
import type { Transport } from './transport.js'
import { serverTimeoutMs, wireOptions } from './wire-options.js'

export interface TransactionDeps {
  readonly transport: Transport
  readonly decode: DecodeOptions
  readonly sourceOf: (sql: string) => Promise<StatementSource>
}

export interface BeginOptions extends CallOptions {
  readonly isolation?: Isolation
  readonly readOnly?: boolean
}

/** Whether the proxy refused a request before it came to the transaction, which then holds its locks and its connection. */
function isLeftOpen(error: unknown): boolean {
  return error instanceof ProxyError && error.status > 0 && error.details?.rolledBack !== true && error.code !== 'TX_UNKNOWN'
}

/** Begins an interactive transaction. Its requests run sequentially, each with the baton of the previous response. */
export async function beginTransaction({ transport, decode, sourceOf }: TransactionDeps, given: BeginOptions): Promise<ProxyTransaction> {
  let baton: string | undefined
  let queue: Promise<unknown> = Promise.resolve()

  const send = async (fields: Readonly<Record<string, unknown>>, { signal, timeoutMs }: CallOptions) => {
    try {
      const body = await transport.send({ path: 'tx', body: fields, repeatable: false, signal, timeoutMs })
      baton = (body.tx as TxState | undefined)?.baton
      return body
    } catch (error) {
      // Without the next baton the transaction cannot be used any more; the proxy rolls it back.
      const held = baton
      baton = undefined
      if (held !== undefined && fields.action !== 'rollback' && isLeftOpen(error))
        await transport
          .send({ path: 'tx', body: { action: 'rollback', baton: held }, repeatable: false, signal, timeoutMs })
          .catch(() => undefined)
      throw error
    }
  }

  const inTurn = <T>(task: (baton: string) => Promise<T>): Promise<T> => {
    const turn = queue.then(() => {
      if (baton === undefined) throw localError('TX_ENDED', 'The transaction has ended')
      return task(baton)
    })
    queue = turn.catch(() => undefined)
    return turn
  }

  const run = <Row>(action: 'query' | 'exec', sql: string, params: readonly unknown[], call: WriteOptions): Promise<Result<Row>> =>
    inTurn(async (current) => {
      const options = { ...wireOptions(call), timeoutMs: serverTimeoutMs(call.timeoutMs ?? transport.timeoutMs) }
      const fields = { action, baton: current, ...(await sourceOf(sql)), params: encodeParams(params, 'rdb'), options }
      return resultOf<Row>(await send(fields, call), decodeOptions(decode, call))
    })

  const { isolation, readOnly } = given
  const options = { ...(isolation === undefined ? {} : { isolation }), ...(readOnly === undefined ? {} : { readOnly }) }
  await send({ action: 'begin', options }, given)
  return {
    get open() {
      return baton !== undefined
    },
    query: (sql, params = [], call = {}) => run('query', sql, params, call),
    async queryOne<Row>(sql: string, params: readonly unknown[] = [], call = {}) {
      return (await run<Row>('query', sql, params, call)).rows[0]
    },
    exec: (sql, params = [], call = {}) => run('exec', sql, params, call),
    commit: (call = {}) => inTurn(async (current) => void (await send({ action: 'commit', baton: current }, call))),
    async rollback(call = {}) {
      await queue
      if (baton !== undefined) await inTurn(async (current) => void (await send({ action: 'rollback', baton: current }, call)))
    },
  }
}
