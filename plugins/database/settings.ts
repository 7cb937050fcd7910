import { defineSettings } from 'zin'

export const databaseSettings = defineSettings({
  DB_CONNECTION: {
    type: 'string',
    default: '',
    summary:
      'Database of the app. Empty: SQLite in `<data>/app.db`; `rdb`: MySQL or MariaDB; `edge-remote`: through the edge proxy; anything else stops the boot',
  },
  USE_RDB_PROXY: {
    type: 'bool',
    default: false,
    summary: 'Connect to `rdb` through the relational proxy, which has its own `DB_*` settings',
  },
  RDB_PROXY_URL: {
    type: 'string',
    default: '',
    summary: 'URL of the relational proxy; empty: `RDB_PROXY_HOST` and `RDB_PROXY_PORT` over http',
  },
  RDB_PROXY_HOST: { type: 'string', default: '127.0.0.1', summary: 'Host of the relational proxy' },
  RDB_PROXY_PORT: { type: 'int', default: 8789, min: 0, max: 65_535, summary: 'Port of the relational proxy' },
  RDB_PROXY_KEY_ID: { type: 'string', default: '', summary: 'Key id for signing requests to the relational proxy' },
  RDB_PROXY_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret of that key; when both are empty, requests are not signed, which is refused in production',
  },
  'RDB_PROXY_HEADERS_*': {
    type: 'family',
    default: {},
    summary: 'Further headers of requests to the relational proxy: `RDB_PROXY_HEADERS_X_Tenant` is `X-Tenant`',
  },
  EDGE_REMOTE_URL: { type: 'string', default: '', summary: 'URL of the edge proxy' },
  EDGE_REMOTE_KEY_ID: { type: 'string', default: '', summary: 'Key id for signing requests to the edge proxy' },
  EDGE_REMOTE_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret that app and edge proxy share; empty: `APP_KEY`',
  },
  EDGE_REMOTE_MODE: {
    type: 'enum',
    default: 'registry',
    values: ['registry', 'sql'],
    summary:
      '`registry`: queries are sent as the hash of their SQL, for a proxy that runs registered statements only; `sql`: as SQL. Migrations are always sent as SQL',
  },
  // Must match the declarations of the plugins bulletproof and jwt.
  SIGNATURE_HEADER_PREFIX: {
    type: 'string',
    default: 'x-sig-',
    pattern: '^[a-z][a-z0-9-]*-$',
    form: 'lower-case letters, digits and -, ending with -, such as x-sig-',
    summary: 'Prefix of the signature headers, which app and proxy must share',
  },
  APP_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Master key of the app; the secret of the edge proxy when `EDGE_REMOTE_SECRET` is empty',
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
