import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { messageOf } from 'zin'
import { type Column, type RegisteredStatement, type Registry, statementTypes } from 'zin/plugins/sql-wire'
import { gatewayOf, type Settings } from './assemble.js'
import { rdbProxyErrors } from './errors.js'
import { columnOf } from './sql/columns.js'
import { readStatements, type StatementLimits } from './statements.js'

export interface StatementToolOptions {
  readonly settings: Settings
  readonly cwd: string
  readonly file: string | undefined
  /** Skips the database. */
  readonly offline: boolean
  /** Those of the proxy that serves the file. */
  readonly limits: StatementLimits
}

export interface CheckedStatement {
  readonly id: string
  readonly kind: 'read' | 'write'
  readonly params: number
  /** Empty if there is none. */
  readonly problem: string
}

interface Prepared {
  readonly statement: RegisteredStatement
  readonly columns: readonly Column[] | undefined
  readonly problem: string
}

/** Prepares each statement on the database. Those with a problem come first. Throws RDB_PROXY_STATEMENTS for an invalid file. */
export async function checkStatements(options: StatementToolOptions): Promise<readonly CheckedStatement[]> {
  const prepared = await prepareAll(await load(options), options)
  const checked = prepared.map(({ statement: { id, kind, placeholders }, problem }) => ({ id, kind, params: placeholders, problem }))
  return checked.toSorted((one, other) => Number(one.problem === '') - Number(other.problem === ''))
}

/** Generates declarations for the statements; writes them to `out` if given. */
export async function typesOfStatements(
  options: StatementToolOptions & { readonly out: string | undefined },
): Promise<{ readonly text: string; readonly path: string | undefined }> {
  const registry = await load(options)
  const prepared = await prepareAll(registry, options)
  const columns = new Map(
    prepared.flatMap(({ statement, columns: found }) => (found === undefined ? [] : [[statement.id, found] as const])),
  )
  const text = statementTypes(registry.statements, columns)
  if (options.out === undefined) return { text, path: undefined }
  const path = resolve(options.cwd, options.out)
  await writeFile(path, text)
  return { text, path }
}

async function load({ settings, cwd, file, limits }: StatementToolOptions): Promise<Registry> {
  const name = file ?? settings.RDB_PROXY_STATEMENTS_FILE
  if (name === '') throw rdbProxyErrors.RDB_PROXY_CONFIG('no statements file is configured; pass --file or set RDB_PROXY_STATEMENTS_FILE')
  return readStatements(resolve(cwd, name), limits)
}

async function prepareAll({ statements }: Registry, { settings, offline }: StatementToolOptions): Promise<readonly Prepared[]> {
  if (offline) return statements.map((statement) => ({ statement, columns: undefined, problem: '' }))
  const gateway = gatewayOf(settings, { poolQueue: 1, poolWaitMs: 1000 })
  try {
    return await gateway.use('writing', async (session) => {
      const results: Prepared[] = []
      for (const statement of statements) {
        try {
          const found = await session.prepare(statement.sql)
          const counted = found.parameters.length === statement.placeholders
          const problem = counted ? '' : `the database found ${found.parameters.length} parameters instead of ${statement.placeholders}`
          results.push({ statement, columns: found.columns.map(columnOf), problem })
          session.release(statement.sql)
        } catch (error) {
          results.push({ statement, columns: undefined, problem: messageOf(error) })
        }
      }
      return results
    })
  } finally {
    gateway.close()
  }
}
