/** What the statements of an app need. */
const forRows = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const
/** What migrations need besides. */
const forTables = ['CREATE', 'ALTER', 'INDEX', 'DROP'] as const

/**
 * Returns the privileges that an account lacks on a database, or undefined if that cannot be told, because it has roles. Pure.
 *
 * @param grants lines of SHOW GRANTS.
 * @param migrates whether the account runs migrations.
 */
export function missingPrivileges(grants: readonly string[], database: string, migrates: boolean): readonly string[] | undefined {
  const wanted: readonly string[] = migrates ? [...forRows, ...forTables] : forRows
  const given = new Set(grants.flatMap((grant) => privilegesOn(grant, database)))
  const missing = given.has('ALL PRIVILEGES') ? [] : wanted.filter((privilege) => !given.has(privilege))
  const hasRoles = grants.some((grant) => !/\sON\s/i.test(grant))
  return missing.length > 0 && hasRoles ? undefined : missing
}

/** The privileges of a line of SHOW GRANTS that apply to all tables of a database. */
function privilegesOn(grant: string, database: string): readonly string[] {
  const [, list = '', place = ''] = /^GRANT (.+?) ON (?:TABLE )?((?:\*|[`"](?:[^`"]|``|"")+[`"])\.\*) TO /i.exec(grant) ?? []
  const name = place.slice(0, -'.*'.length)
  if (name !== '*' && !matches(name.slice(1, -1).replaceAll('``', '`'), database)) return []
  return list.split(',').map((one) => one.trim().toUpperCase())
}

/** In a grant, `_` and `%` stand for any character and any text, unless a backslash precedes them. */
function matches(pattern: string, database: string): boolean {
  const source = [...pattern.matchAll(/\\(.)|(.)/gs)]
    .map(([, escaped, plain = '']) =>
      escaped !== undefined ? quoted(escaped) : plain === '_' ? '.' : plain === '%' ? '.*' : quoted(plain),
    )
    .join('')
  return new RegExp(`^${source}$`, 's').test(database)
}

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
