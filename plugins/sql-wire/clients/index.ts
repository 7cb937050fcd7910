/**
 * Clients of the two SQL proxies for Node, workerd and browser workers: queries over signed HTTP, and adapters for Kysely and drizzle. Has no
 * dependencies.
 */

export { createProxyClient } from './client.js'
export type {
  AnyStatements,
  BatchCallOptions,
  CallOptions,
  ProxyClient,
  ProxyClientOptions,
  ProxyTransaction,
  Queries,
  ReadOptions,
  Result,
  SqlClient,
  Statement,
  StatementType,
  StatementTypes,
  Value,
  WriteOptions,
} from './contract.js'
export type { DrizzleMysqlCallback, DrizzleSqliteBatch, DrizzleSqliteCallback, DrizzleSqliteMethod } from './drizzle.js'
export { drizzleMigrations, drizzleMysql, drizzleSqlite } from './drizzle.js'
export { headerFault } from './headers.js'
export type { DialectClass } from './kysely.js'
export { kyselyMysql, kyselyResult, kyselySqlite, kyselyStatement } from './kysely.js'
export type { Param } from './params.js'
export type { LocalErrorCode, ProxyErrorFacts } from './proxy-error.js'
export { ProxyError } from './proxy-error.js'
export type { Int64Mode, JsonMode } from './rows.js'
