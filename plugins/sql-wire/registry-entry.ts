import { defaultLimits } from './parse-request.js'
import type { RegistryOptions } from './registry.js'
import { commitsImplicitly, readFault, type SqlScan, scanSql } from './sql-text.js'
import { type ParamSpec, type ParamType, paramTypes } from './statement-params.js'

/** A registered statement. */
export interface RegisteredStatement {
  readonly id: string
  readonly sql: string
  readonly kind: 'read' | 'write'
  /** Whether its result is a single row. */
  readonly one: boolean
  /** Number of parameters. */
  readonly placeholders: number
  /** Undefined: untyped; only the number is checked. */
  readonly params: readonly ParamSpec[] | undefined
  /** Scopes that the key must have in addition to that of the path. */
  readonly scopes: readonly string[]
  readonly maxRows: number | undefined
  readonly timeoutMs: number | undefined
  /** A write that changes more rows is rolled back. */
  readonly maxChanges: number | undefined
  /** Whether the write can be repeated without an idempotency key. */
  readonly idempotent: boolean
}

export interface ParsedEntry {
  readonly statement: RegisteredStatement | undefined
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/
const reserved: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype))
const entryFields = ['sql', 'kind', 'one', 'params', 'scopes', 'maxRows', 'timeoutMs', 'maxChanges', 'idempotent']
const paramFields = ['name', 'type', 'nullable', 'maxLength']
/** A scope of a key or a statement. */
export const SCOPE_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.:*-]{0,127}$/

/** Parses one entry of a statements map. */
export function entryOf(id: string, value: unknown, options: RegistryOptions): ParsedEntry {
  const problems: string[] = []
  const fault = (text: string): void => void problems.push(`${shown(id)}: ${text}`)
  if (!idPattern.test(id))
    fault('an id must have 1 to 128 letters, digits, dots, colons, hyphens and underscores, and begin with a letter or digit')
  if (reserved.has(id) || id.startsWith('sha256:')) fault('this id is reserved')
  const entry: Fields | undefined = typeof value === 'string' ? { sql: value } : isObject(value) ? value : undefined
  if (entry === undefined) fault('it must be SQL or an object with "sql"')
  for (const key of Object.keys(entry ?? {}))
    if (!entryFields.includes(key)) fault(`${shown(key)} is not a known field; valid fields are ${entryFields.join(', ')}`)
  const sql = entry?.sql
  if (entry !== undefined && (typeof sql !== 'string' || sql.trim() === '')) fault('"sql" must be a non-empty string')
  if (entry === undefined || typeof sql !== 'string' || problems.length > 0) return { statement: undefined, problems, warnings: [] }

  const scan = scanSql(sql, options.dialect)
  checkSql(scan, sql, options, fault)
  const kind = kindOf(entry.kind, scan, fault)
  const params = paramsOf(entry.params, fault)
  if (params !== undefined && params.length !== scan.placeholders)
    fault(`it has ${scan.placeholders} placeholders but ${params.length} "params"`)
  const statement: RegisteredStatement = {
    id,
    sql,
    kind,
    one: flag(entry, 'one', fault),
    placeholders: scan.placeholders,
    params,
    scopes: scopesOf(entry.scopes, fault),
    maxRows: count(entry, 'maxRows', fault),
    timeoutMs: count(entry, 'timeoutMs', fault),
    maxChanges: count(entry, 'maxChanges', fault),
    idempotent: flag(entry, 'idempotent', fault),
  }
  const untyped = params === undefined && scan.placeholders > 0
  const warnings = untyped ? [`${shown(id)}: its parameters have no types, so values of any type are bound`] : []
  return { statement: problems.length > 0 ? undefined : statement, problems, warnings }
}

type Fault = (text: string) => void

const shown = (text: string): string => JSON.stringify(text.slice(0, 128))

function checkSql(scan: SqlScan, sql: string, options: RegistryOptions, fault: Fault): void {
  const { maxSqlBytes = defaultLimits.maxSqlBytes, maxParams = defaultLimits.maxParams } = options
  if (new TextEncoder().encode(sql).length > maxSqlBytes) fault(`its SQL has more than ${maxSqlBytes} bytes`)
  if (scan.placeholders > maxParams) fault(`it has ${scan.placeholders} placeholders; the maximum is ${maxParams}`)
  if (scan.unterminated) fault('a string, a quoted name or a comment in its SQL is not terminated')
  else if (scan.statements !== 1) fault(`its SQL has ${scan.statements} statements; an entry must have exactly one`)
  if (scan.namedPlaceholders) fault('its SQL has named placeholders; use ?')
  if (scan.executableComment) fault('its SQL has a comment that the server executes')
  if (scan.writesFile) fault('its SQL writes a file')
  if (scan.readsFile) fault('its SQL reads a file of the server')
  if (scan.kind === 'control' || scan.kind === 'unknown') fault(`${scan.keyword || 'its SQL'} cannot be registered`)
}

function kindOf(kind: unknown, scan: SqlScan, fault: Fault): 'read' | 'write' {
  const found = readFault(scan) === undefined || scan.kind === 'pragma' ? 'read' : 'write'
  if (kind === undefined) return found
  if (kind !== 'read' && kind !== 'write') fault('"kind" must be "read" or "write"')
  if (kind === 'read' && found === 'write' && !commitsImplicitly(scan)) fault(`"kind" is "read", but ${scan.keyword} writes`)
  else if (kind === 'read' && found === 'write') fault(`"kind" is "read", but ${scan.keyword} is not a reading statement`)
  return kind === 'write' ? 'write' : found
}

function paramsOf(params: unknown, fault: Fault): readonly ParamSpec[] | undefined {
  if (params === undefined) return undefined
  if (!Array.isArray(params)) {
    fault('"params" must be an array')
    return undefined
  }
  const specs = params.flatMap((param: unknown, index) => paramOf(param, (text) => fault(`params[${index}] ${text}`)))
  const twice = specs.find(({ name }, index) => specs.findIndex((other) => other.name === name) < index)
  if (twice !== undefined) fault(`two parameters are named ${shown(twice.name)}`)
  return specs
}

function paramOf(param: unknown, fault: Fault): readonly ParamSpec[] {
  if (!isObject(param)) {
    fault('must be an object with "name" and "type"')
    return []
  }
  for (const key of Object.keys(param)) if (!paramFields.includes(key)) fault(`has the unknown field ${shown(key)}`)
  const { name, type } = param
  if (typeof name !== 'string' || !/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) fault('must have a "name" that is an identifier')
  if (!paramTypes.includes(type as ParamType)) fault(`must have a "type", one of ${paramTypes.join(', ')}`)
  const maxLength = count(param, 'maxLength', fault)
  if (maxLength !== undefined && type !== 'text' && type !== 'blob') fault('has a "maxLength", which is only allowed for text and blob')
  const nullable = flag(param, 'nullable', fault)
  return [{ name: name as string, type: type as ParamType, nullable, ...(maxLength === undefined ? {} : { maxLength }) }]
}

function scopesOf(scopes: unknown, fault: Fault): readonly string[] {
  if (scopes === undefined) return []
  if (Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string' && SCOPE_PATTERN.test(scope))) return scopes as string[]
  fault('"scopes" must be an array of scopes such as "users:read"')
  return []
}

function count(fields: Fields, name: string, fault: Fault): number | undefined {
  const value = fields[name]
  if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1)) return value
  fault(`"${name}" must be a positive integer`)
  return undefined
}

function flag(fields: Fields, name: string, fault: Fault): boolean {
  const value = fields[name]
  if (value !== undefined && typeof value !== 'boolean') fault(`"${name}" must be true or false`)
  return value === true
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
