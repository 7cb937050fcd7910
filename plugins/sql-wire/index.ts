/**
 * Shared by both SQL proxies and their clients: bodies, request validation, errors, and the registry of statements. It has no dependencies,
 * so it runs in Node, workerd and browsers.
 */

export { fromBase64, isBase64, toBase64 } from './base64.js'
export type { WireErrorCode, WireErrorOptions } from './errors.js'
export { errorBody, errorHeaders, unauthorized, WireError, wireErrors } from './errors.js'
export { isInteger, isWireParam, paramFault } from './param.js'
export type { ParsedBatch, ParsedStatement, WireLimits } from './parse-request.js'
export { DEFAULT_MAX_BODY_BYTES, defaultLimits, parseBatch, parseJson, parseStatement, parseTx } from './parse-request.js'
export type { Registry, RegistryOptions } from './registry.js'
export { parseRegistry, RegistryError } from './registry.js'
export { type RegisteredStatement, SCOPE_PATTERN } from './registry-entry.js'
export type { SqlKind, SqlScan } from './sql-text.js'
export { commitsImplicitly, firstKeyword, readFault, scanSql } from './sql-text.js'
export type { ParamSpec, ParamType } from './statement-params.js'
export { checkParams, wrongCount } from './statement-params.js'
export { statementTypes } from './statement-types.js'
export type { SqlDialect, SqlToken, SqlTokens } from './tokens.js'
export { tokensOf } from './tokens.js'
export { integerOf, timeText } from './values.js'
export type {
  ArrayRow,
  BatchOptions,
  BatchRequest,
  BatchResult,
  BatchStatement,
  Column,
  ColumnType,
  Encoding,
  ErrorBody,
  ErrorDetails,
  ExecResult,
  Isolation,
  ObjectRow,
  OneResult,
  QueryResult,
  ResultMeta,
  Row,
  RowMode,
  StatementOptions,
  StatementRequest,
  StatementResult,
  StatementSource,
  StreamLine,
  TaggedValue,
  TxBegun,
  TxRequest,
  TxState,
  WireParam,
  WireValue,
} from './wire.js'
