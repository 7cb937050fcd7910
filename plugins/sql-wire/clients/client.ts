import type { StatementSource } from '../wire.js'
import type {
  AnyStatements,
  BatchCallOptions,
  ProxyClient,
  ProxyClientOptions,
  ReadOptions,
  Result,
  Statement,
  StatementTypes,
  WriteOptions,
} from './contract.js'
import { encodeParams } from './params.js'
import { localError } from './proxy-error.js'
import { resultOf, resultsOf } from './result.js'
import { type DecodeOptions, decodeOptions } from './rows.js'
import { sha256Hex } from './sha256-hex.js'
import { streamRows } from './stream.js'
import { beginTransaction } from './transaction.js'
import { createTransport } from './transport.js'
import { serverTimeoutMs, wireOptions } from './wire-options.js'

/**
 * Creates a client of a SQL proxy. It holds no connection and does not need to be closed. Throws a TypeError for invalid options.
 *
 * @example
 * const client = createProxyClient({ url: 'https://sql.example.com', proxy: 'edge', keyId: 'shop', secret })
 * const { rows } = await client.query<{ id: string }>('select id from users where email = ?', ['ada@example.com'])
 * await client.transaction([
 *   { sql: 'update accounts set balance = balance - ? where id = ?', params: [10, 'a'] },
 *   { sql: 'update accounts set balance = balance + ? where id = ?', params: [10, 'b'] },
 * ])
 */
export function createProxyClient<Statements extends StatementTypes<Statements> = AnyStatements>(
  options: ProxyClientOptions,
): ProxyClient<Statements> {
  const { proxy, mode = 'sql' } = options
  const transport = createTransport(options)
  const decode: DecodeOptions = { int64: options.int64 ?? 'auto', json: options.json ?? 'text' }

  const sourceOf = async (sql: string): Promise<StatementSource> => (mode === 'registry' ? { statementId: await sha256Hex(sql) } : { sql })

  const call = async (path: string, fields: Readonly<Record<string, unknown>>, given: BatchCallOptions, repeatable: boolean) => {
    const { signal, timeoutMs = transport.timeoutMs } = given
    const options = { ...wireOptions(given), timeoutMs: serverTimeoutMs(timeoutMs) }
    const body = { ...fields, options }
    return transport.send({ path, body, repeatable: repeatable || options.idempotencyKey !== undefined, signal, timeoutMs })
  }

  const run = async <Row>(path: string, sql: string, params: readonly unknown[], given: WriteOptions, repeatable: boolean) =>
    resultOf<Row>(
      await call(path, { ...(await sourceOf(sql)), params: encodeParams(params, proxy) }, given, repeatable),
      decodeOptions(decode, given),
    )

  const batch = async (statements: readonly Statement[], given: BatchCallOptions = {}): Promise<readonly Result[]> => {
    const encoded = statements.map(async (statement) => ({
      ...('sql' in statement ? await sourceOf(statement.sql) : { statementId: statement.statementId }),
      params: encodeParams(statement.params ?? [], proxy),
    }))
    return resultsOf(
      await call('batch', { statements: await Promise.all(encoded) }, given, given.readOnly === true),
      decodeOptions(decode, given),
    )
  }

  const onlyRdb = (what: string): void => {
    if (proxy === 'edge') throw localError('TX_NOT_SUPPORTED', `The edge proxy does not support ${what}`)
  }

  return {
    proxy,
    query: <Row>(sql: string, params: readonly unknown[] = [], given: ReadOptions = {}) => run<Row>('query', sql, params, given, true),
    async queryOne<Row>(sql: string, params: readonly unknown[] = [], given: ReadOptions = {}) {
      return (await run<Row>('queryOne', sql, params, given, true)).rows[0]
    },
    exec: <Row>(sql: string, params: readonly unknown[] = [], given: WriteOptions = {}) => run<Row>('exec', sql, params, given, false),
    async statement(id, params, given = {}) {
      const fields = { statementId: id, params: encodeParams(params, proxy) }
      return resultOf(await call('statement', fields, given, false), decodeOptions(decode, given))
    },
    batch,
    transaction: (statements, given = {}) => batch(statements, { ...given, mode: 'transaction' }),
    async *stream<Row>(sql: string, params: readonly unknown[] = [], given: ReadOptions = {}) {
      onlyRdb('streams; use query with a LIMIT')
      const body = { ...(await sourceOf(sql)), params: encodeParams(params, proxy), options: wireOptions(given) }
      yield* streamRows<Row>(transport, body, given, decodeOptions(decode, given))
    },
    async begin(given = {}) {
      onlyRdb('interactive transactions; pass the statements to transaction() or batch(), which run as one transaction')
      return beginTransaction({ transport, decode, sourceOf }, given)
    },
  }
}
