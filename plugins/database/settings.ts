import { defineSettings } from 'zin'

export const databaseSettings = defineSettings({
  DB_CONNECTION: {
    type: 'string',
    default: '',
    summary: 'Database of the app. Empty: SQLite in `<data>/app.db`; `rdb`: MySQL or MariaDB; anything else stops the boot',
  },
  USE_RDB_PROXY: {
    type: 'bool',
    default: false,
    summary: 'Connect to `rdb` through the relational proxy; `true` stops the boot, because this version does not support it',
  },
  DB_HOST: { type: 'string', default: 'localhost', summary: 'Host of the MySQL or MariaDB server' },
  DB_PORT: { type: 'int', default: 3306, min: 1, max: 65_535, summary: 'Port of the MySQL or MariaDB server' },
  DB_DATABASE: { type: 'string', default: 'zin', summary: 'Database name on the server' },
  DB_USERNAME: { type: 'string', default: 'root', summary: 'User on the server' },
  DB_PASSWORD: { type: 'string', default: '', secret: true, summary: 'Password of that user; must not be empty for root in production' },
  DB_POOL_LIMIT: { type: 'int', default: 10, min: 1, max: 1000, summary: 'Maximum number of connections in the pool' },
  DB_CONNECT_TIMEOUT_MS: { type: 'int', default: 10_000, min: 100, max: 600_000, summary: 'How long the boot waits for the server, in ms' },
  DB_STATEMENT_TIMEOUT_MS: {
    type: 'int',
    default: 5000,
    min: 100,
    max: 3_600_000,
    summary: 'Timeout of a statement, and of its wait for a lock on the SQLite file, in ms',
  },
  DB_MIGRATION_TIMEOUT_MS: {
    type: 'int',
    default: 600_000,
    min: 1000,
    max: 86_400_000,
    summary: 'Timeout of a statement in a migration, in ms',
  },
  DB_ACQUIRE_TIMEOUT_MS: {
    type: 'int',
    default: 5000,
    min: 10,
    max: 600_000,
    summary: 'How long a query waits for a free connection, in ms',
  },
  APP_RENAMED_FROM: {
    type: 'string',
    default: '',
    summary: 'Previous name of the app, so that it can keep using its database after a rename',
  },
  DB_MIGRATE: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'manual'],
    summary: '`auto` migrates before a plugin starts; `manual` refuses to start while migrations are pending',
  },
})
