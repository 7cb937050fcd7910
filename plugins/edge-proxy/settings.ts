import { defineSettings, type SettingValues } from 'zin'
import { signatureSettings } from 'zin/plugins/bulletproof'
import { appKeySettings } from 'zin/plugins/jwt'

/** Settings shared by callers and the proxy. A plugin that reads them adds these to its `settings`. */
export const edgeRemoteSettings = defineSettings({
  EDGE_REMOTE_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret with which callers of the edge proxy sign requests; default: `APP_KEY`. At least 32 bytes in production',
  },
  EDGE_REMOTE_MODE: {
    type: 'enum',
    values: ['registry', 'sql'],
    default: 'registry',
    summary: '`registry` runs only registered statements; `sql` also runs SQL from the caller',
  },
})

export const edgeProxySettings = defineSettings({
  ...edgeRemoteSettings,
  ...appKeySettings,
  ...signatureSettings,
  EDGE_STATEMENTS_JSON: {
    type: 'string',
    default: '',
    summary: 'Registered statements as a JSON object: by id, SQL or an object with `sql`, `kind`, `one`, `params`, …',
  },
  EDGE_RATE_PER_MINUTE: {
    type: 'int',
    default: 6000,
    min: 0,
    max: 999_999_999,
    summary: 'Requests per minute for each key id; 0: no limit',
  },
  EDGE_RATE_TOTAL_PER_MINUTE: {
    type: 'int',
    default: 60_000,
    min: 0,
    max: 999_999_999,
    summary: 'Requests per minute of all key ids together, which callers choose freely; 0: no limit',
  },
  EDGE_SCOPES: {
    type: 'string',
    default: '',
    summary:
      'Scopes of key ids as JSON, such as `{"shop": ["read", "users:read"]}`; empty: SQL needs none, statements with `scopes` are refused',
  },
  EDGE_BINDING: {
    type: 'string',
    default: 'DB',
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$',
    form: 'an identifier of at most 64 letters, digits or _',
    summary: 'Name of the D1 binding in the worker',
  },
})

/** Additional settings of `zin deploy`. */
export const edgeDeploySettings = defineSettings({
  APP_NAME: { type: 'string', default: 'zin', summary: 'Name of the app' },
  EDGE_WORKER_NAME: { type: 'string', default: '', summary: 'Name of the worker; default: `<APP_NAME>-edge`' },
  EDGE_DATABASE_NAME: { type: 'string', default: '', summary: 'Name of the D1 database' },
  EDGE_DATABASE_ID: { type: 'string', default: '', summary: '`database_id` of the D1 database, a UUID' },
})

/** Additional settings of `zin proxy`. */
export const edgeLocalSettings = defineSettings({
  ZIN_DATA_DIR: { type: 'string', default: '.zin/data', summary: 'Data folder' },
})

export type EdgeProxySettings = SettingValues<typeof edgeProxySettings>

/** Returns the settings as text, as the worker reads them. */
export function workerSettings(settings: EdgeProxySettings) {
  const { EDGE_REMOTE_SECRET, APP_KEY, EDGE_REMOTE_MODE, EDGE_STATEMENTS_JSON, EDGE_SCOPES, EDGE_BINDING, SIGNATURE_HEADER_PREFIX } =
    settings
  const EDGE_RATE_PER_MINUTE = String(settings.EDGE_RATE_PER_MINUTE)
  const EDGE_RATE_TOTAL_PER_MINUTE = String(settings.EDGE_RATE_TOTAL_PER_MINUTE)
  return {
    EDGE_REMOTE_SECRET,
    APP_KEY,
    EDGE_REMOTE_MODE,
    EDGE_STATEMENTS_JSON,
    EDGE_SCOPES,
    EDGE_BINDING,
    EDGE_RATE_PER_MINUTE,
    EDGE_RATE_TOTAL_PER_MINUTE,
    SIGNATURE_HEADER_PREFIX,
  }
}
