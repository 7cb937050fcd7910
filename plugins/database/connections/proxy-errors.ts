import type { ZinError } from 'zin'
import { ProxyError } from 'zin/clients'
import { databaseErrors } from '../errors.js'
import type { ProxyConfig } from './proxy-config.js'

/** Error codes of a proxy that is unreachable, busy or cannot reach its database. */
const unavailable: ReadonlySet<string> = new Set([
  'PROXY_UNREACHABLE',
  'DEADLINE_EXCEEDED',
  'RATE_LIMITED',
  'DB_UNAVAILABLE',
  'DB_AUTH_FAILED',
  'DB_PROTOCOL',
  'POOL_EXHAUSTED',
  'SHUTTING_DOWN',
  'AUTH_STORE_UNAVAILABLE',
  'CONFIG_ERROR',
  'QUERY_TIMEOUT',
  'TX_EXPIRED',
  'TX_UNKNOWN',
  'TX_ENDED',
  'MISDIRECTED',
])

/** Maps an error of the proxy to a 503 when it, or the database behind it, is unavailable; everything else stays as it is. */
export function mapProxyError(error: unknown, where: string, sql = ''): unknown {
  if (error instanceof ProxyError && error.code === 'UNKNOWN_STATEMENT' && sql !== '')
    return Object.assign(databaseErrors.DATABASE_STATEMENT_UNREGISTERED(where, sql), { cause: error })
  if (error instanceof ProxyError && error.code === 'SQL_MODE_DISABLED')
    return Object.assign(
      databaseErrors.DATABASE_CONFIG(
        `the proxy of ${where} runs registered statements only. Run it in sql mode while migrations are applied`,
      ),
      { cause: error },
    )
  if (!isProxyUnavailable(error)) return error
  const unknown = error.outcomeUnknown ? '. Whether a statement took effect is unknown' : ''
  return Object.assign(databaseErrors.DATABASE_UNAVAILABLE(`Database ${where}: ${error.code}: ${error.message}${unknown}`), {
    cause: error,
  })
}

function isProxyUnavailable(error: unknown): error is ProxyError {
  return error instanceof ProxyError && (unavailable.has(error.code) || (error.code === 'INVALID_RESPONSE' && error.retryable))
}

/** Whether a retry at boot may succeed; not so for errors of the configuration, such as a host name that the proxy does not serve. */
export function isWorthRetrying(error: unknown): boolean {
  return isProxyUnavailable(error) && error.code !== 'MISDIRECTED' && error.code !== 'CONFIG_ERROR' && error.code !== 'DB_AUTH_FAILED'
}

/** The boot error of a proxy that did not respond in time. */
export function proxyUnreachable(config: ProxyConfig, waitedMs: number, error: unknown): ZinError {
  const { url } = settingsOf(config)
  return databaseErrors.DATABASE_UNAVAILABLE(
    `The proxy of database "${config.name}" (${config.url}) did not respond within ${waitedMs} ms: ${reasonOf(error)}. Start it, or correct ${url}`,
  )
}

/** The boot error of a proxy that refused the request. */
export function proxyRefusal(config: ProxyConfig, error: unknown): ZinError {
  const { url, credentials, mode } = settingsOf(config)
  const code = error instanceof ProxyError ? error.code : ''
  const hints: Readonly<Record<string, string>> = {
    UNAUTHORIZED: `Set ${credentials} to those of the proxy, and check the clock of this machine`,
    FORBIDDEN_SCOPE: 'Give the key the scopes for reading, writing, DDL and SQL',
    INVALID_RESPONSE: `Correct ${url}`,
    NOT_FOUND: `Correct ${url}`,
    MISDIRECTED: `Add the host in ${url} to app.allowedHosts of the proxy`,
    SQL_MODE_DISABLED: `Start the proxy in sql mode: ${mode}`,
    UNKNOWN_STATEMENT: `The proxy runs registered statements only. Start it in sql mode (${mode}), or register the statements of this app with hashIds`,
  }
  return databaseErrors.DATABASE_CONFIG(
    `the proxy of database "${config.name}" (${config.url}) refused the connection: ${reasonOf(error)}. ${hints[code] ?? 'See the log of the proxy'}`,
  )
}

/** Maps the error of a proxy without interactive transactions; returns other errors unchanged. */
export function noTransactions(error: unknown, config: ProxyConfig, where: string): unknown {
  if (!(error instanceof ProxyError) || (error.code !== 'TX_NOT_SUPPORTED' && error.code !== 'NOT_FOUND')) return error
  const edge = 'which runs all of its statements as one transaction'
  return databaseErrors.DATABASE_NO_TRANSACTIONS(
    where,
    config.driver === 'edge-remote' ? edge : `${edge}, or set RDB_PROXY_TRANSACTIONS=true on the proxy`,
  )
}

/** Whether the proxy responded, but runs registered statements only, so that no other statement can be sent to it. */
export function runsRegisteredOnly(error: unknown): boolean {
  return error instanceof ProxyError && (error.code === 'UNKNOWN_STATEMENT' || error.code === 'SQL_MODE_DISABLED')
}

function settingsOf({ driver }: ProxyConfig) {
  return driver === 'rdb-proxy'
    ? {
        url: 'RDB_PROXY_URL, or RDB_PROXY_HOST and RDB_PROXY_PORT',
        credentials: 'RDB_PROXY_KEY_ID and RDB_PROXY_SECRET',
        mode: 'RDB_PROXY_MODE=sql',
      }
    : { url: 'EDGE_REMOTE_URL', credentials: 'EDGE_REMOTE_KEY_ID and EDGE_REMOTE_SECRET', mode: 'EDGE_REMOTE_MODE=sql' }
}

function reasonOf(error: unknown): string {
  if (error instanceof ProxyError) return `${error.code}: ${error.message}`
  return error instanceof Error ? error.message : String(error)
}
