import { WireError } from './errors.js'
import { paramFault } from './param.js'
import type {
  BatchOptions,
  BatchStatement,
  Encoding,
  Isolation,
  RowMode,
  StatementOptions,
  StatementRequest,
  StatementSource,
  TxRequest,
  WireParam,
} from './wire.js'

/** Limits of a request. */
export interface WireLimits {
  /** In UTF-8. */
  readonly maxSqlBytes: number
  readonly maxParams: number
  /** Statements in a batch. */
  readonly maxStatements: number
}

/** Default limits of both proxies; the edge proxy allows only 100 parameters, as D1 does. */
export const defaultLimits: WireLimits = { maxSqlBytes: 32_768, maxParams: 256, maxStatements: 50 }

/** Default size limit of a request body, in bytes. */
export const DEFAULT_MAX_BODY_BYTES = 131_072

/** A validated statement of a request; `params` and `options` are always present. */
export type ParsedStatement = StatementRequest & { readonly params: readonly WireParam[]; readonly options: StatementOptions }

export interface ParsedBatch {
  readonly statements: readonly (BatchStatement & { readonly params: readonly WireParam[] })[]
  readonly options: BatchOptions
}

type ParsedSource = StatementSource & { readonly params: readonly WireParam[] }

type Fields = Readonly<Record<string, unknown>>

const isolations: readonly Isolation[] = ['read uncommitted', 'read committed', 'repeatable read', 'serializable']
const modes = ['transaction', 'sequence']
const rowModes: readonly RowMode[] = ['object', 'array']
const encodings: readonly Encoding[] = ['typed', 'plain']
const sourceFields = ['sql', 'statementId', 'params']
const statementFields: ReadonlySet<string> = new Set([...sourceFields, 'options'])
const batchFields: ReadonlySet<string> = new Set(['statements', 'options'])
const batchStatementFields: ReadonlySet<string> = new Set([...sourceFields, 'one'])
const txFields: ReadonlySet<string> = new Set(['action', 'baton', ...sourceFields, 'options'])
const beginFields: ReadonlySet<string> = new Set(['action', 'options'])
const beginOptionFields: ReadonlySet<string> = new Set(['isolation', 'readOnly'])
const endFields: ReadonlySet<string> = new Set(['action', 'baton'])
/** Maximum number of UTF-8 bytes for a UTF-16 code unit. */
const maxUnitBytes = 3
const encoder = new TextEncoder()

/** Parses the JSON of a body. Throws INVALID_JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new WireError('INVALID_JSON', 'The body is not valid JSON')
  }
}

/** Validates the body of `query`, `queryOne`, `exec` or `statement`. Throws a {@link WireError}. */
export function parseStatement(body: unknown, limits: WireLimits = defaultLimits): ParsedStatement {
  const fields = fieldsOf(body, 'The body', statementFields)
  const { params, sql, statementId } = sourceOf(fields, 'The body', limits)
  const options = statementOptions(fields.options)
  // No spread: it would cost more than all checks of a small statement.
  return sql === undefined ? { statementId, params, options } : { sql, params, options }
}

/** Validates the body of `batch`. Throws a {@link WireError}; errors of a statement have its index in `details.failedIndex`. */
export function parseBatch(body: unknown, limits: WireLimits = defaultLimits): ParsedBatch {
  const { statements, options } = fieldsOf(body, 'The body', batchFields)
  if (!Array.isArray(statements) || statements.length === 0) throw invalid('"statements" must be a non-empty array')
  if (statements.length > limits.maxStatements)
    throw invalid(`"statements" has ${statements.length} statements; the maximum is ${limits.maxStatements}`, {
      limit: limits.maxStatements,
    })
  const parsed = statements.map((statement: unknown, index) => {
    try {
      const what = `statements[${index}]`
      const fields = fieldsOf(statement, what, batchStatementFields)
      const one = booleanOf(fields, 'one', what)
      return { ...sourceOf(fields, what, limits), ...(one === undefined ? {} : { one }) }
    } catch (error) {
      throw error instanceof WireError ? error.with({ details: { failedIndex: index } }) : error
    }
  })
  return { statements: parsed, options: batchOptions(options) }
}

/** Validates the body of `tx`. Throws a {@link WireError}. */
export function parseTx(body: unknown, limits: WireLimits = defaultLimits): TxRequest {
  const { action } = fieldsOf(body, 'The body', txFields)
  if (action === 'begin') {
    const { options } = fieldsOf(body, 'The body', beginFields)
    return { action, options: beginOptions(options) }
  }
  if (action === 'commit' || action === 'rollback') return { action, baton: batonOf(fieldsOf(body, 'The body', endFields)) }
  if (action !== 'query' && action !== 'queryOne' && action !== 'exec')
    throw invalid('"action" must be one of begin, query, queryOne, exec, commit, rollback')
  const fields = body as Fields
  return { action, baton: batonOf(fields), ...sourceOf(fields, 'The body', limits), options: statementOptions(fields.options) }
}

function batonOf({ baton }: Fields): string {
  if (typeof baton === 'string' && /^[A-Za-z0-9_-]{1,400}$/.test(baton)) return baton
  throw invalid('"baton" must be the baton of the last response')
}

function invalid(message: string, details?: Readonly<Record<string, unknown>>): WireError {
  return new WireError('VALIDATION_ERROR', message, details === undefined ? {} : { details })
}

function fieldsOf(value: unknown, what: string, known: ReadonlySet<string>): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${what} must be a JSON object`)
  const strange = Object.keys(value).find((key) => !known.has(key))
  if (strange !== undefined) throw invalid(`${what} has the unknown field ${JSON.stringify(strange.slice(0, 60))}`)
  return value as Fields
}

function sourceOf({ sql, statementId, params }: Fields, what: string, limits: WireLimits): ParsedSource {
  if ((sql === undefined) === (statementId === undefined)) throw invalid(`${what} must have either "sql" or "statementId"`)
  const checked = paramsOf(params, what, limits)
  if (statementId !== undefined) {
    if (typeof statementId !== 'string' || statementId === '' || statementId.length > 128)
      throw invalid(`"statementId" of ${what} must be a string of 1 to 128 characters`)
    return { statementId, params: checked }
  }
  if (typeof sql !== 'string' || !/\S/.test(sql)) throw invalid(`"sql" of ${what} must be a non-empty string`)
  if (isLonger(sql, limits.maxSqlBytes))
    throw new WireError('SQL_TOO_LARGE', `The SQL has more than ${limits.maxSqlBytes} bytes`, { details: { limit: limits.maxSqlBytes } })
  return { sql, params: checked }
}

/** Returns whether a text has more UTF-8 bytes than allowed; encodes it only if its length does not decide. */
function isLonger(text: string, maxBytes: number): boolean {
  if (text.length * maxUnitBytes <= maxBytes) return false
  return text.length > maxBytes || encoder.encode(text).length > maxBytes
}

function paramsOf(params: unknown, what: string, { maxParams }: WireLimits): readonly WireParam[] {
  if (params === undefined) return []
  if (!Array.isArray(params)) throw invalid(`"params" of ${what} must be an array`)
  if (params.length > maxParams)
    throw new WireError('TOO_MANY_PARAMS', `The statement has ${params.length} parameters; the maximum is ${maxParams}`, {
      details: { limit: maxParams },
    })
  params.forEach((param: unknown, index) => {
    const fault = paramFault(param)
    if (fault !== undefined) throw new WireError('INVALID_PARAM', `Parameter ${index} ${fault}`, { details: { index } })
  })
  return params as readonly WireParam[]
}

const optionNames = ['rowMode', 'maxRows', 'timeoutMs', 'encoding', 'idempotencyKey']
const optionFields: ReadonlySet<string> = new Set(optionNames)
const batchOptionFields: ReadonlySet<string> = new Set([...optionNames, 'mode', 'isolation', 'readOnly'])
const noOptions: StatementOptions = {}

/** Validates the options; all fields are known, so they are returned unchanged. */
function statementOptions(options: unknown): StatementOptions {
  if (options === undefined) return noOptions
  const fields = fieldsOf(options, '"options"', optionFields)
  checkOptions(fields)
  return fields as StatementOptions
}

function batchOptions(options: unknown): BatchOptions {
  if (options === undefined) return noOptions
  const fields = fieldsOf(options, '"options"', batchOptionFields)
  checkOptions(fields)
  checkChoice(fields, 'mode', modes)
  checkTransaction(fields)
  return fields as BatchOptions
}

function beginOptions(options: unknown): BatchOptions {
  if (options === undefined) return noOptions
  const fields = fieldsOf(options, '"options"', beginOptionFields)
  checkTransaction(fields)
  return fields as BatchOptions
}

function checkOptions(fields: Fields): void {
  checkChoice(fields, 'rowMode', rowModes)
  checkChoice(fields, 'encoding', encodings)
  checkCount(fields, 'maxRows')
  checkCount(fields, 'timeoutMs')
  const { idempotencyKey } = fields
  if (idempotencyKey !== undefined && (typeof idempotencyKey !== 'string' || !/^[\u0021-\u007e]{1,128}$/.test(idempotencyKey)))
    throw invalid('"options.idempotencyKey" must be 1 to 128 printable ASCII characters')
}

function checkTransaction(fields: Fields): void {
  checkChoice(fields, 'isolation', isolations)
  booleanOf(fields, 'readOnly', '"options"')
}

function checkChoice(fields: Fields, name: string, values: readonly string[]): void {
  const value = fields[name]
  if (value !== undefined && !values.includes(value as string)) throw invalid(`"options.${name}" must be one of ${values.join(', ')}`)
}

function checkCount(fields: Fields, name: string): void {
  const value = fields[name]
  if (value !== undefined && (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1))
    throw invalid(`"options.${name}" must be a positive integer`)
}

function booleanOf(fields: Fields, name: string, what: string): boolean | undefined {
  const value = fields[name]
  if (value !== undefined && typeof value !== 'boolean') throw invalid(`"${name}" of ${what} must be true or false`)
  return value
}
