import { duplicateKeys } from './duplicate-keys.js'
import { entryOf, type RegisteredStatement } from './registry-entry.js'
import type { SqlDialect } from './tokens.js'

/** Registered statements by id, from the file or setting of a proxy. */
export interface Registry {
  /** Finds a statement by id; if the map has `hashIds`, also by the SHA-256 of its SQL, as `sha256:<hex>` or bare hex. */
  get(id: string): RegisteredStatement | undefined
  /** Each statement once, in the order of the map. */
  readonly statements: readonly RegisteredStatement[]
  /** Possible mistakes, one sentence each. */
  readonly warnings: readonly string[]
}

/** Thrown for an invalid statements map; the message lists all problems. */
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
 * Parses a statements map: `{ "id": "SQL" }`, or `{ "version": 1, "statements": { "id": { "sql", "params", … } } }`. In both forms, a
 * value may be SQL or an object. Throws a {@link RegistryError} that lists every problem.
 *
 * @param json text of the file or setting.
 */
export async function parseRegistry(json: string, options: RegistryOptions): Promise<Registry> {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new RegistryError([`it is not valid JSON: ${error instanceof Error ? error.message : String(error)}`])
  }
  const problems = duplicateKeys(json).map((path) => `${path} is a duplicate key`)
  const { entries, hashIds } = entriesOf(value, problems)
  const parsed = entries.map(([id, entry]) => entryOf(id, entry, options))
  problems.push(...parsed.flatMap((entry) => entry.problems))
  const statements = parsed.flatMap(({ statement }) => (statement === undefined ? [] : [statement]))
  const byId = new Map(statements.map((statement) => [statement.id, statement]))
  for (const statement of statements) {
    const looksHashed = hexId.test(statement.id)
    if (!looksHashed && !hashIds) continue
    const hash = await sha256Hex(statement.sql)
    if (looksHashed && statement.id !== hash) problems.push(`${statement.id} looks like the hash of its SQL, but is not`)
    if (!hashIds) continue
    for (const id of [hash, `sha256:${hash}`]) if (!byId.has(id)) byId.set(id, statement)
  }
  if (problems.length > 0) throw new RegistryError(problems)
  return { get: (id) => byId.get(id), statements, warnings: parsed.flatMap(({ warnings }) => warnings) }
}

/** Bare hex form of a hash id, which some clients send. */
const hexId = /^[0-9a-f]{64}$/

function entriesOf(value: unknown, problems: string[]): { readonly entries: readonly [string, unknown][]; readonly hashIds: boolean } {
  if (!isObject(value)) {
    problems.push('it must be a JSON object of statements')
    return { entries: [], hashIds: false }
  }
  const { statements } = value
  // In the short form, a statement may have the id "statements"; its value is SQL or has the field "sql".
  if (!isObject(statements) || Object.hasOwn(statements, 'sql')) return { entries: Object.entries(value), hashIds: false }
  problems.push(
    ...Object.keys(value)
      .filter((key) => !mapFields.includes(key))
      .map((key) => `${JSON.stringify(key)} is not a field of the map; valid fields are ${mapFields.join(', ')}`),
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
