import type { SettingValues } from 'zin'
import { headerFault } from 'zin/clients'
import { databaseErrors } from '../errors.js'
import type { databaseSettings } from '../settings.js'

/** A database behind one of the SQL proxies. */
export interface ProxyConfig {
  readonly name: string
  readonly driver: 'rdb-proxy' | 'edge-remote'
  readonly url: string
  /** Requests are not signed when the secret is empty. */
  readonly keyId: string
  readonly secret: string
  readonly mode: 'sql' | 'registry'
  readonly headers: Readonly<Record<string, string>>
  /** Prefix of the signature header names. */
  readonly headerPrefix: string
  /** Maximum number of concurrent requests. */
  readonly poolLimit: number
}

type Settings = SettingValues<typeof databaseSettings>

/** The relational proxy of `USE_RDB_PROXY=true`. Throws DATABASE_CONFIG. */
export function rdbProxyConfig(settings: Settings, production: boolean): ProxyConfig {
  const { RDB_PROXY_URL, RDB_PROXY_HOST, RDB_PROXY_PORT, RDB_PROXY_KEY_ID, RDB_PROXY_SECRET, DB_POOL_LIMIT } = settings
  const host = RDB_PROXY_HOST.includes(':') && !RDB_PROXY_HOST.startsWith('[') ? `[${RDB_PROXY_HOST}]` : RDB_PROXY_HOST
  const url = checkedUrl('RDB_PROXY_URL', RDB_PROXY_URL || `http://${host}:${RDB_PROXY_PORT}`)
  if ((RDB_PROXY_KEY_ID === '') !== (RDB_PROXY_SECRET === ''))
    throw refused('set both RDB_PROXY_KEY_ID and RDB_PROXY_SECRET, or neither for a proxy that accepts unsigned requests')
  if (production && RDB_PROXY_SECRET === '')
    throw refused(
      'requests to the relational proxy would not be signed, which is refused in production. Set RDB_PROXY_KEY_ID and RDB_PROXY_SECRET',
    )
  return {
    name: 'default',
    driver: 'rdb-proxy',
    url,
    keyId: RDB_PROXY_KEY_ID,
    secret: RDB_PROXY_SECRET,
    mode: 'sql',
    headers: headersOf(settings['RDB_PROXY_HEADERS_*'], settings.SIGNATURE_HEADER_PREFIX),
    headerPrefix: settings.SIGNATURE_HEADER_PREFIX,
    poolLimit: DB_POOL_LIMIT,
  }
}

/** The edge proxy of `DB_CONNECTION=edge-remote`. Throws DATABASE_CONFIG. */
export function edgeRemoteConfig(settings: Settings): ProxyConfig {
  const { EDGE_REMOTE_URL, EDGE_REMOTE_KEY_ID, EDGE_REMOTE_SECRET, EDGE_REMOTE_MODE, APP_KEY, DB_POOL_LIMIT } = settings
  const secret = EDGE_REMOTE_SECRET || APP_KEY
  if (EDGE_REMOTE_URL === '')
    throw refused('DB_CONNECTION is "edge-remote" and EDGE_REMOTE_URL is empty; set it to the URL of the edge proxy')
  if (EDGE_REMOTE_KEY_ID === '' || secret === '')
    throw refused(
      'DB_CONNECTION is "edge-remote", which requires EDGE_REMOTE_KEY_ID and EDGE_REMOTE_SECRET (or APP_KEY): the edge proxy accepts signed requests only',
    )
  return {
    name: 'default',
    driver: 'edge-remote',
    url: checkedUrl('EDGE_REMOTE_URL', EDGE_REMOTE_URL),
    keyId: EDGE_REMOTE_KEY_ID,
    secret,
    mode: EDGE_REMOTE_MODE,
    headers: {},
    headerPrefix: settings.SIGNATURE_HEADER_PREFIX,
    poolLimit: DB_POOL_LIMIT,
  }
}

function checkedUrl(setting: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const plain = url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ''
  if (!plain) throw refused(`${setting} must be an http or https URL without user, password, query or fragment`)
  return url.href
}

/** `X_Tenant` is the header `X-Tenant`. */
function headersOf(family: Readonly<Record<string, string>>, headerPrefix: string): Readonly<Record<string, string>> {
  const headers = Object.entries(family).map(([rest, value]) => [rest.replaceAll('_', '-'), value] as const)
  const seen = new Set<string>()
  for (const [name, value] of headers) {
    const fault =
      headerFault(name, value, headerPrefix) ?? (seen.has(name.toLowerCase()) ? `the header ${name.toLowerCase()} is set twice` : undefined)
    if (fault !== undefined) throw refused(`RDB_PROXY_HEADERS_${name.replaceAll('-', '_')}: ${fault}`)
    seen.add(name.toLowerCase())
  }
  return Object.fromEntries(headers)
}

function refused(what: string) {
  return databaseErrors.DATABASE_CONFIG(what)
}
