import type { Context } from 'koa'
import { defineRoute, type JsonSchema, type Route } from 'zin'
import { type ParsedStatement, parseBatch, parseStatement, parseTx, type WireLimits } from 'zin/plugins/sql-wire'
import { type HandlerParts, NDJSON, serve, type Work } from './handler.js'
import {
  anyResponse,
  batchBody,
  batchResponse,
  execResponse,
  oneResponse,
  queryResponse,
  registeredBody,
  statementBody,
  txBody,
} from './schema.js'
import type { RdbProxy } from './service.js'
import type { Streams } from './stream.js'
import type { Transactions } from './transactions.js'

/** Dependencies of the routes; available once the plugin has started. */
export interface Assembled {
  readonly handler: HandlerParts
  readonly proxy: RdbProxy
  readonly streams: Streams
  readonly transactions: Transactions
  readonly limits: WireLimits
}

const tag = 'relational proxy'

export const basePath = '/svc/rdb/'

export function rdbProxyRoutes(assembled: () => Assembled): readonly Route[] {
  const route = (name: string, summary: string, body: JsonSchema, response: JsonSchema, work: (parts: Assembled) => Work): Route =>
    defineRoute({
      method: 'POST',
      path: `${basePath}${name}`,
      summary,
      tag,
      // The handler reads the body itself, once the signature matches.
      bodyType: 'none',
      bodyLimit: Number.MAX_SAFE_INTEGER,
      context: false,
      documented: { body },
      response: { 200: response },
      handler: (ctx) => {
        const parts = assembled()
        return serve(ctx as unknown as Context, parts.handler, work(parts))
      },
    })
  const reading =
    (purpose: 'query' | 'statement', run: (parts: Assembled, call: Parameters<Work>[0], request: ParsedStatement) => Promise<object>) =>
    (parts: Assembled): Work =>
    (call, body, ctx) => {
      const request = parseStatement(body, parts.limits)
      return wantsStream(ctx) ? parts.streams.open(call, purpose, request) : run(parts, call, request)
    }
  return [
    route(
      'query',
      'Run a reading statement and return its rows',
      statementBody,
      queryResponse,
      reading('query', ({ proxy }, call, request) => proxy.query(call, request, false)),
    ),
    route(
      'queryOne',
      'Run a reading statement and return its first row',
      statementBody,
      oneResponse,
      ({ proxy, limits }) =>
        (call, body) =>
          proxy.query(call, parseStatement(body, limits), true),
    ),
    route(
      'exec',
      'Run a writing statement',
      statementBody,
      execResponse,
      ({ proxy, limits }) =>
        (call, body) =>
          proxy.exec(call, parseStatement(body, limits)),
    ),
    route(
      'statement',
      'Run a registered statement',
      registeredBody,
      anyResponse,
      reading('statement', ({ proxy }, call, request) => proxy.statement(call, request)),
    ),
    route(
      'batch',
      'Run statements in one transaction or in sequence',
      batchBody,
      batchResponse,
      ({ proxy, limits }) =>
        (call, body) =>
          proxy.batch(call, parseBatch(body, limits)),
    ),
    route(
      'tx',
      'Run a transaction across several requests',
      txBody,
      anyResponse,
      ({ transactions, limits }) =>
        (call, body) =>
          transactions.handle(call, parseTx(body, limits)),
    ),
  ]
}

/** Only reads are streamed. */
function wantsStream(ctx: Context): boolean {
  return (ctx.req.headers.accept ?? '').toLowerCase().includes(NDJSON)
}
