import { defineSettings } from 'zin'
import { databaseSettings } from 'zin/plugins/database'

const { DB_HOST, DB_PORT, DB_DATABASE, DB_USERNAME, DB_PASSWORD } = databaseSettings

/** Key id and secret. Clients of the proxy read the same settings. */
export const rdbProxyKeySettings = defineSettings({
  RDB_PROXY_KEY_ID: {
    type: 'string',
    default: '',
    summary: 'Id of the key that signs requests to the relational proxy. Empty on the server: any id is accepted',
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
    summary: '`registry` refuses SQL from callers: only statements in the file run',
  },
  RDB_PROXY_STATEMENTS_FILE: { type: 'string', default: '', summary: 'JSON file with the registered statements' },
  RDB_PROXY_REQUIRE_SIGNING: {
    type: 'enum',
    default: 'auto',
    values: ['auto', 'true', 'false'],
    summary:
      'Whether unsigned requests are refused. `auto`: yes if a key is configured; without one the proxy accepts loopback connections only. Requests with an invalid signature are always refused',
  },
  RDB_PROXY_SIGNING_WINDOW_MS: {
    type: 'int',
    default: 60_000,
    min: 1000,
    max: 300_000,
    summary: 'Largest allowed difference between the timestamp of a signed request and the clock, in ms',
  },
  RDB_PROXY_MAX_BODY_BYTES: {
    type: 'int',
    default: 131_072,
    min: 1024,
    max: 16_777_216,
    summary: 'Maximum size of a request body, in bytes',
  },
  RDB_PROXY_POOL_LIMIT: {
    type: 'int',
    default: 10,
    min: 1,
    max: 1000,
    summary: 'Maximum number of connections for reading, and the same number for writing',
  },
  RDB_PROXY_READ_USERNAME: {
    type: 'string',
    default: '',
    summary:
      'User for reading, with only the privilege SELECT. Empty: `DB_USERNAME`, which production refuses if it has privileges beyond reading',
  },
  RDB_PROXY_READ_PASSWORD: { type: 'string', default: '', secret: true, summary: 'Password of that user' },
  RDB_PROXY_ALLOW_POWERFUL_ACCOUNT: {
    type: 'bool',
    default: false,
    summary: 'Same as the option `allowPowerfulAccount`',
  },
  RDB_PROXY_TRANSACTIONS: { type: 'bool', default: false, summary: 'Whether clients may keep a transaction open across requests' },
})

/** Address and port of `zin proxy:mysql`. */
export const proxyServerSettings = defineSettings({
  RDB_PROXY_HOST: { type: 'string', default: '127.0.0.1', summary: 'Address that `zin proxy:mysql` listens on' },
  RDB_PROXY_PORT: { type: 'int', default: 8789, min: 0, max: 65_535, summary: 'Port that `zin proxy:mysql` listens on; 0: any free port' },
})
