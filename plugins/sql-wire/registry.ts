import { duplicateKeys } from './duplicate-keys.js'
import { entryOf, type RegisteredStatement } from './registry-entry.js'
import type { SqlDialect } from './tokens.js'

/** Statements by id, as the file or the setting of a proxy lists them. */
export interface Registry {
  /** Also by `sha256:<hex>` and the bare hex of the SQL, when the map has `hashIds`. */
  get(id: string): RegisteredStatement | undefined
  /** In the order of the map, each once. */
  readonly statements: readonly RegisteredStatement[]
  /** What may be a mistake, one sentence each. */
  readonly warnings: readonly string[]
}

/** A statements map with faults; the message lists them all. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

export interface RegistryOptions {
  readonly dialect: SqlDialect
  readonly maxSqlBytes?: number
  readonly maxParams?: number
}

const mapFields = ['$schema', 'version', 'hashIds', 'statements']

/**
 * Parses a statements map: `{ "id": "SQL" }`, or `{ "version": 1, "statements": { "id": { "sql", "params", … } } }`. Every value of either
 * form may be SQL or an object. Throws a {@link RegistryError} that lists every fault.
 *
 * @param json the text of the file or setting.
 */
export async function parseRegistry(json: string, options: RegistryOptions): Promise<Registry> {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new RegistryError([`it is no JSON text: ${error instanceof Error ? error.message : String(error)}`])
  }
  const problems = duplicateKeys(json).map((path) => `${path} is there twice`)
  const { entries, hashIds } = entriesOf(value, problems)
  const parsed = entries.map(([id, entry]) => entryOf(id, entry, options))
  problems.push(...parsed.flatMap((entry) => entry.problems))
  const statements = parsed.flatMap(({ statement }) => (statement === undefined ? [] : [statement]))
  const byId = new Map(statements.map((statement) => [statement.id, statement]))
  for (const statement of statements) {
    const looksHashed = hexId.test(statement.id)
    if (!looksHashed && !hashIds) continue
    const hash = await sha256Hex(statement.sql)
    if (looksHashed && statement.id !== hash) problems.push(`${statement.id} looks like the hash of its SQL, and is not`)
    if (!hashIds) continue
    for (const id of [hash, `sha256:${hash}`]) if (!byId.has(id)) byId.set(id, statement)
  }
  if (problems.length > 0) throw new RegistryError(problems)
  return { get: (id) => byId.get(id), statements, warnings: parsed.flatMap(({ warnings }) => warnings) }
}

/** The hex form in which some clients send the hash of the SQL as its id. */
const hexId = /^[0-9a-f]{64}$/

function entriesOf(value: unknown, problems: string[]): { readonly entries: readonly [string, unknown][]; readonly hashIds: boolean } {
  if (!isObject(value)) {
    problems.push('it must be a JSON object of statements')
    return { entries: [], hashIds: false }
  }
  const { statements } = value
  // A statement of the plain form may have the id "statements"; it is SQL, or has it.
  if (!isObject(statements) || Object.hasOwn(statements, 'sql')) return { entries: Object.entries(value), hashIds: false }
  problems.push(
    ...Object.keys(value)
      .filter((key) => !mapFields.includes(key))
      .map((key) => `${JSON.stringify(key)} is no field of the map; its fields are ${mapFields.join(', ')}`),
  )
  if (value.version !== 1) problems.push('"version" must be 1')
  if (value.hashIds !== undefined && typeof value.hashIds !== 'boolean') problems.push('"hashIds" must be true or false')
  return { entries: Object.entries(statements), hashIds: value.hashIds === true }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
