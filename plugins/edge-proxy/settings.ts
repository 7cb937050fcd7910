import { defineSettings, type SettingValues } from 'zin'
import { signatureSettings } from 'zin/plugins/bulletproof'
import { appKeySettings } from 'zin/plugins/jwt'

/** Settings of callers and of the proxy alike. A plugin that reads them adds this to its `settings`. */
export const edgeRemoteSettings = defineSettings({
  EDGE_REMOTE_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret that callers of the edge proxy sign with; `APP_KEY` when empty. 32 bytes or more in production',
  },
  EDGE_REMOTE_MODE: {
    type: 'enum',
    values: ['registry', 'sql'],
    default: 'registry',
    summary: '`registry` runs registered statements only; `sql` also the SQL of the caller',
  },
})

export const edgeProxySettings = defineSettings({
  ...edgeRemoteSettings,
  ...appKeySettings,
  ...signatureSettings,
  EDGE_STATEMENTS_JSON: {
    type: 'string',
    default: '',
    summary: 'Registered statements: JSON object of SQL by id, or of objects with `sql`, `kind`, `one`, `params`, …',
  },
  EDGE_RATE_PER_MINUTE: {
    type: 'int',
    default: 6000,
    min: 0,
    max: 999_999_999,
    summary: 'Requests a minute of each key id; 0 is no limit',
  },
  EDGE_BINDING: {
    type: 'string',
    default: 'DB',
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,63}$',
    form: 'an identifier of at most 64 letters, digits or _',
    summary: 'Name of the D1 binding of the worker',
  },
})

/** Settings of `zin deploy`, beside those of the proxy. */
export const edgeDeploySettings = defineSettings({
  APP_NAME: { type: 'string', default: 'zin', summary: 'Name of the app' },
  EDGE_WORKER_NAME: { type: 'string', default: '', summary: 'Name of the worker; `<APP_NAME>-edge` when empty' },
  EDGE_DATABASE_NAME: { type: 'string', default: '', summary: 'Name of the D1 database' },
  EDGE_DATABASE_ID: { type: 'string', default: '', summary: 'Its `database_id`, a UUID' },
})

/** Settings of `zin proxy`, beside those of the proxy. */
export const edgeLocalSettings = defineSettings({
  ZIN_DATA_DIR: { type: 'string', default: '.zin/data', summary: 'Folder of the data' },
})

export type EdgeProxySettings = SettingValues<typeof edgeProxySettings>

/** The settings as the worker reads them: text. */
export function workerSettings(settings: EdgeProxySettings) {
  const { EDGE_REMOTE_SECRET, APP_KEY, EDGE_REMOTE_MODE, EDGE_STATEMENTS_JSON, EDGE_BINDING, SIGNATURE_HEADER_PREFIX } = settings
  const EDGE_RATE_PER_MINUTE = String(settings.EDGE_RATE_PER_MINUTE)
  return {
    EDGE_REMOTE_SECRET,
    APP_KEY,
    EDGE_REMOTE_MODE,
    EDGE_STATEMENTS_JSON,
    EDGE_BINDING,
    EDGE_RATE_PER_MINUTE,
    SIGNATURE_HEADER_PREFIX,
  }
}
