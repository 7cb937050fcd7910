import { defineErrors, messageOf } from 'zin'
import type { SqliteValueError } from 'zin/plugins/sqlite'

/** Length of the SQL in a message. */
const shownSql = 200

export const databaseErrors = defineErrors({
  DATABASE_CONFIG: {
    message: (what: string) => `The database cannot be set up: ${what}`,
    when: 'At boot: the connection is not supported, root has no password in production, or the server refuses the login',
    fix: 'Correct the setting or option that the message names',
  },
  DATABASE_UNAVAILABLE: {
    status: 503,
    message: (what: string) => what,
    when: 'The server or file cannot be reached, does not respond in time, or is locked by another process',
    fix: 'Check the server and `DB_*`; requests can be retried',
  },
  DATABASE_SESSION: {
    status: 503,
    message: (name: string, wanted: string, found: string) =>
      `The database server does not keep ${name} = '${wanted}' for a session; it has '${found}'. Without it, statements and values could mean something else, so the connection is not used`,
    when: 'A connection opens: the server, or a proxy before it, does not keep the settings of the session',
    fix: 'Connect to the server directly, or let the proxy pass session variables',
  },
  DATABASE_SESSION_CHANGED: {
    status: 500,
    message: (where: string, name: string, value: string) =>
      `A statement set ${name} to '${value}' on a connection to ${where}. Parameters of later statements could become SQL, so the connection was closed`,
    when: 'A statement of the app, or a routine that it calls, sets `NO_BACKSLASH_ESCAPES` or a character set other than UTF-8 for its session',
    fix: 'Remove the statement: the plugin itself sets the session',
  },
  DATABASE_MISSING: {
    message: (file: string, error: Error) =>
      `There is no database to read: ${file} cannot be found (${messageOf(error)}). Nothing was created. Set ZIN_DATA_DIR to the data directory of the app, or DB_* to its database`,
    when: 'A command that only reads, such as `audit:verify`, finds no SQLite file',
    fix: 'Run the command with the `ZIN_DATA_DIR` of the app',
  },
  DATABASE_DAMAGED: {
    message: (file: string, what: string) =>
      `The database file ${file} in the backup is damaged: ${what}. Check the disk and the original, and repeat the backup`,
    when: '`zin backup`: the copy of a SQLite file does not pass its integrity check',
    fix: 'Check the disk and the original, and repeat the backup',
  },
  DATABASE_TOO_LARGE: {
    status: 413,
    message: (where: string, bytes: number, limit: number) =>
      `A statement for database ${where} has ${bytes} bytes with its values, and the server accepts ${limit} (max_allowed_packet). Write less at a time, or raise the limit on the server`,
    when: 'A statement with its values is larger than `max_allowed_packet` of the server',
    fix: 'Write less at a time, or raise `max_allowed_packet` on the server',
  },
  DATABASE_BUSY: {
    status: 503,
    message: (name: string, waitedMs: number) =>
      `No connection of database "${name}" became free within ${waitedMs} ms. A transaction holds it for too long, or code inside a transaction uses tables() instead of the transaction's own handle`,
    when: 'No connection became free within `DB_ACQUIRE_TIMEOUT_MS`',
    fix: "Shorten transactions, use the transaction's own handle inside of them, or raise `DB_POOL_LIMIT`",
  },
  DATABASE_OWN_TRANSACTION: {
    status: 500,
    message: (name: string) =>
      `Code inside a transaction of database "${name}" waited for a query outside of it: the database has one connection, which the transaction holds. Use the transaction's own handle, or do it before or after the transaction`,
    when: 'On SQLite: code inside of `transaction()` queries the database, or calls a plugin that does, without the handle of the transaction',
    fix: "Use the transaction's own handle, or call the plugin before or after the transaction",
  },
  DATABASE_NO_TRANSACTIONS: {
    status: 500,
    message: (where: string, how: string) => `Database ${where} has no interactive transactions. Use batch(), ${how}`,
    when: '`transaction()` behind a proxy that does not support or allow interactive transactions',
    fix: 'Use `batch`; or set `RDB_PROXY_TRANSACTIONS=true` on the relational proxy',
  },
  DATABASE_STATEMENT_UNREGISTERED: {
    status: 500,
    message: (where: string, sql: string) =>
      `Database ${where}: this SQL is not registered: ${sql}. Register it on the proxy, in a map with "hashIds": true, or set EDGE_REMOTE_MODE=sql`,
    when: 'With `EDGE_REMOTE_MODE=registry`: a statement that is not registered on the proxy',
    fix: 'Register the SQL that the message shows, or set `EDGE_REMOTE_MODE=sql`',
  },
  DATABASE_COLUMN: {
    status: 400,
    message: (where: string, column: string) => `A result of database ${where} cannot have a column named "${column}"`,
    when: 'On MySQL and MariaDB: a result has a column with a name that JavaScript objects use themselves, such as `__proto__`',
    fix: 'Select it under another name',
  },
  DATABASE_TEXT: {
    status: 400,
    message: (name: string, { parameter, why }: SqliteValueError) =>
      `Database "${name}" cannot store a text: parameter ${parameter} of the statement ${why}`,
    when: 'On SQLite: a text with the character NUL',
    fix: 'Remove the character, or validate the request; JSON texts escape it',
  },
  DATABASE_NUMBER: {
    status: 400,
    message: (where: string, parameter: number, value: number) =>
      `Database ${where} cannot store ${value}, parameter ${parameter} of the statement`,
    when: 'On MySQL and MariaDB: a number that is not finite',
    fix: 'Validate the request: a schema with `number` or `integer` refuses it',
  },
  DATABASE_VALUE: {
    status: 500,
    message: (name: string, sql: string, { parameter, why }: Pick<SqliteValueError, 'parameter' | 'why'>) =>
      `Database "${name}" cannot store a value: parameter ${parameter} of ${JSON.stringify(sql.slice(0, shownSql))} ${why}`,
    when: 'A value is `undefined`, a list, an object, a function, a symbol or an invalid Date; on SQLite also NaN or a bigint over 64 bits',
    fix: 'Pass the form that the message names',
  },
  DATABASE_NOT_STARTED: {
    status: 503,
    message: (name: string) =>
      `The database "${name}" is not open. Call tables() in your plugin's start or later, not in setup or after stop`,
    when: '`tables()` is called in `setup` or after `stop`',
    fix: 'Call it in `start` or later',
  },
  DATABASE_UNKNOWN_CONNECTION: {
    status: 500,
    message: (name: string, known: readonly string[]) =>
      `No database connection is named "${name}"; known: ${known.join(', ')}. Add it under connections of database({...}) in zin.config.ts`,
    when: '`tables(name)` names no configured connection',
    fix: 'Add it to the option `connections`',
  },
  DATABASE_OTHER_APP: {
    status: 409,
    message: (where: string, owner: string, name: string) =>
      `The database ${where} belongs to the app "${owner}", and this app is "${name}" (APP_NAME). Use a separate database for each app (DB_DATABASE); if "${owner}" was renamed, set APP_RENAMED_FROM to its old name for the next start`,
    when: 'At boot and in `zin migrate`: the database belongs to an app with another name',
    fix: 'Use a separate `DB_DATABASE` for each app; after renaming an app, set `APP_RENAMED_FROM` once',
  },
  MIGRATION_LOCKED: {
    status: 503,
    message: (where: string, waitedMs: number) =>
      `Another process has been migrating ${where} for more than ${waitedMs} ms; wait until it ends and retry`,
    when: 'Another process has been migrating for more than 5 minutes',
    fix: 'Wait until it ends and retry',
  },
  MIGRATION_REFUSED: {
    status: 409,
    message: (what: string) => what,
    when: '`zin migrate` with options that are mutually exclusive, an unknown plugin, or without `--force` in production',
    fix: 'Pass the options that the message names',
  },
})
