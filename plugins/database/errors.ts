import { defineErrors } from 'zin'

export const databaseErrors = defineErrors({
  DATABASE_CONFIG: { status: 500, message: (what: string) => `The database cannot be set up: ${what}` },
  DATABASE_UNAVAILABLE: { status: 503, message: (what: string) => what },
  DATABASE_BUSY: {
    status: 503,
    message: (name: string, waitedMs: number) =>
      `No connection of database "${name}" became free within ${waitedMs} ms. A transaction holds it for too long, or code inside a transaction uses tables() where it must use the transaction's own handle`,
  },
  DATABASE_NOT_STARTED: {
    status: 503,
    message: (name: string) =>
      `The database "${name}" is not open. Call tables() in your plugin's start or later, not in setup or after stop`,
  },
  DATABASE_UNKNOWN_CONNECTION: {
    status: 500,
    message: (name: string, known: readonly string[]) =>
      `No database connection is named "${name}"; known: ${known.join(', ')}. Add it under connections of database({...}) in zin.config.ts`,
  },
  DATABASE_OTHER_APP: {
    status: 409,
    message: (where: string, owner: string, name: string) =>
      `The database ${where} belongs to the app "${owner}", and this app is "${name}" (APP_NAME). Give each app a database of its own (DB_DATABASE); if "${owner}" was renamed, set APP_RENAMED_FROM to its old name for the next start`,
  },
  MIGRATION_LOCKED: {
    status: 503,
    message: (where: string, waitedMs: number) =>
      `Another process has been migrating ${where} for more than ${waitedMs} ms; wait for it to end and try again`,
  },
  MIGRATION_REFUSED: { status: 409, message: (what: string) => what },
})
