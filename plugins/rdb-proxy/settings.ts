import { defineSettings } from 'zin'
import { databaseSettings } from 'zin/plugins/database'

const { DB_HOST, DB_PORT, DB_DATABASE, DB_USERNAME, DB_PASSWORD } = databaseSettings

/** Key and secret, which the clients of the proxy read by the same names. */
export const rdbProxyKeySettings = defineSettings({
  RDB_PROXY_KEY_ID: {
    type: 'string',
    default: '',
    summary: 'Id of the key that requests to the relational proxy are signed with. Empty on the server: any id',
  },
  RDB_PROXY_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret of that key, used verbatim; 32 bytes or more in production',
  },
})

export const rdbProxySettings = defineSettings({
  DB_HOST,
  DB_PORT,
  DB_DATABASE,
  DB_USERNAME,
  DB_PASSWORD,
  ...rdbProxyKeySettings,
  RDB_PROXY_MODE: {
    type: 'enum',
    default: 'sql',
    values: ['sql', 'registry'],
    summary: '`registry` refuses SQL of the caller: only statements of the file run',
  },
  RDB_PROXY_STATEMENTS_FILE: { type: 'string', default: '', summary: 'JSON file of the registered statements' },
  RDB_PROXY_REQUIRE_SIGNING: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'true', 'false'],
    summary:
      'Whether unsigned requests are refused. `auto`: yes when there is a key; without one the proxy serves this machine only. Wrongly signed ones are always refused',
  },
  RDB_PROXY_SIGNING_WINDOW_MS: {
    type: 'int',
    default: 60_000,
    min: 1000,
    max: 300_000,
    summary: 'How far the timestamp of a signed request may be off, in ms',
  },
  RDB_PROXY_MAX_BODY_BYTES: {
    type: 'int',
    default: 131_072,
    min: 1024,
    max: 16_777_216,
    summary: 'Maximum size of a request body, in bytes',
  },
  RDB_PROXY_POOL_LIMIT: { type: 'int', default: 10, min: 1, max: 1000, summary: 'Connections for reading, and as many for writing' },
  RDB_PROXY_READ_USERNAME: {
    type: 'string',
    default: '',
    summary:
      'User for reading, with the privilege SELECT alone. Empty: `DB_USERNAME`, which production refuses when it may write files or settings',
  },
  RDB_PROXY_READ_PASSWORD: { type: 'string', default: '', secret: true, summary: 'Password of that user' },
  RDB_PROXY_TRANSACTIONS: { type: 'bool', default: false, summary: 'Whether clients may keep a transaction open over several requests' },
})

/** Where `zin proxy:mysql` listens. */
export const proxyServerSettings = defineSettings({
  RDB_PROXY_HOST: { type: 'string', default: '127.0.0.1', summary: 'Address of `zin proxy:mysql`' },
  RDB_PROXY_PORT: { type: 'int', default: 8789, min: 0, max: 65_535, summary: 'Port of `zin proxy:mysql`; 0 picks a free one' },
})
