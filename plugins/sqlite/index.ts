/** Opens SQLite files for the plugins that have one, with the binding of this Node. */

export type { LoadedBinding } from './binding.js'
export { loadBinding, standIn, standInUse } from './binding.js'
export type { SqliteDatabase, SqliteRow, SqliteStatement } from './open.js'
export { openSqlite, SqliteError } from './open.js'
export { SqliteValueError } from './values.js'
