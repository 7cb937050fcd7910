/** Reads what decides whether parameters are safe. Its limit counts instead of `sql_select_limit`. */
export const safetyQuery = 'select @@session.sql_mode as sql_mode, @@session.character_set_client as character_set_client limit 1'

/** The name and the value of a setting with which parameters would be SQL. mysql2 writes them as UTF-8 with backslashes. */
export function unsafeSetting(row: Readonly<Record<string, unknown>> | undefined): readonly [name: string, value: string] | undefined {
  const [mode, charset] = [String(row?.sql_mode), String(row?.character_set_client)]
  if (mode.split(',').includes('NO_BACKSLASH_ESCAPES')) return ['sql_mode', mode]
  return charset.startsWith('utf8') ? undefined : ['character_set_client', charset]
}

interface Header {
  readonly serverStatus: number
  readonly stateChanges?: object
}

const inTransactionFlag = 1

/**
 * What a statement did to its session: whether it left variables, temporary tables, prepared statements or another database, and whether a
 * transaction is open. Undefined for rows, which do not say.
 *
 * @param result of mysql2. That of CALL is a list that ends with the header.
 */
export function sessionChange(result: unknown): { readonly isChanged: boolean; readonly inTransaction: boolean } | undefined {
  const last: unknown = Array.isArray(result) ? result.at(-1) : result
  if (!isHeader(last)) return undefined
  return { isChanged: last.stateChanges !== undefined, inTransaction: (last.serverStatus & inTransactionFlag) !== 0 }
}

/** What may precede a statement: spaces and comments that no server executes. */
const start = /^(?:\s|\/\*(?!M?!)[\s\S]*?\*\/|(?:--|#).*\n)*/.source
const changing = new RegExp(`${start}(?:(?:set(?!\\s+transaction\\b)|call|execute|lock|begin\\s+not)\\b|/\\*M?!)`, 'i')
const ofNext = new RegExp(`${start}set\\s+transaction\\b`, 'i')

/**
 * Whether the text of a statement may change its session: MariaDB does not report `SET @@name = …`, and no server locks of tables. Nobody
 * knows what a comment does that the server executes.
 */
export function mayChange(sql: string): boolean {
  return changing.test(sql)
}

/** Whether it is `SET TRANSACTION`, which is about the next transaction only. */
export function isOfNextTransaction(sql: string): boolean {
  return ofNext.test(sql)
}

/** No row is one: rows are plain objects. */
function isHeader(value: unknown): value is Header {
  return typeof value === 'object' && value !== null && value.constructor?.name === 'ResultSetHeader'
}
