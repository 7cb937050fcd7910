import { addressKind, type SettingValues } from 'zin'
import { observabilityErrors } from '../errors.js'
import type { observabilitySettings } from '../settings.js'

/** The destination of OTLP exports. */
export interface OtlpTarget {
  /** Without a trailing slash. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
}

type Settings = Pick<
  SettingValues<typeof observabilitySettings>,
  'WORKER_OPENTELEMETRY_ENABLED' | 'WORKER_OPENTELEMETRY_ENDPOINT' | 'APM_ENABLED' | 'APM_API_KEY' | 'APM_API_KEY_HEADER'
>

/** Returns the destination, or undefined if OpenTelemetry is off. Throws OPENTELEMETRY_MISCONFIGURED, which never contains the key. */
export function otlpTarget(settings: Settings): OtlpTarget | undefined {
  const { APM_API_KEY: key, APM_API_KEY_HEADER, APM_ENABLED, WORKER_OPENTELEMETRY_ENABLED, WORKER_OPENTELEMETRY_ENDPOINT } = settings
  if (!WORKER_OPENTELEMETRY_ENABLED && !APM_ENABLED) return undefined
  const endpoint = checkEndpoint(WORKER_OPENTELEMETRY_ENDPOINT)
  if (!APM_ENABLED) return { endpoint, headers: {} }
  if (key === '')
    throw observabilityErrors.OPENTELEMETRY_MISCONFIGURED(
      'APM_API_KEY',
      'is not set, but APM_ENABLED is true; set the key, or set APM_ENABLED to false',
    )
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw observabilityErrors.OPENTELEMETRY_MISCONFIGURED('APM_API_KEY', 'contains characters that are not allowed in a header')
  }
  const header = APM_API_KEY_HEADER.toLowerCase()
  return { endpoint, headers: { [header]: header === 'authorization' ? `Bearer ${key}` : key } }
}

function checkEndpoint(text: string): string {
  const fail = (why: string): never => {
    throw observabilityErrors.OPENTELEMETRY_MISCONFIGURED('WORKER_OPENTELEMETRY_ENDPOINT', why)
  }
  if (!URL.canParse(text)) fail('is not a URL; set it to a URL such as http://127.0.0.1:4318')
  const { hash, password, pathname, protocol, search, username } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:')
    fail('is neither http: nor https:; OTLP is sent over HTTP, on port 4318 of a collector')
  if (username !== '' || password !== '') fail('contains a user name or password; use APM_API_KEY instead')
  if (search !== '' || hash !== '') fail('has a query or fragment; set only the part before /v1/traces')
  const [signal] = /\/v1\/(traces|metrics|logs)\/*$/.exec(pathname) ?? []
  if (signal !== undefined) fail(`ends in ${signal}, which is appended automatically; set only the part before it`)
  return text.replace(/\/+$/, '')
}

/** Whether the key would be sent over a network unencrypted. */
export function sendsKeyUnencrypted({ endpoint, headers }: OtlpTarget): boolean {
  const { hostname, protocol } = new URL(endpoint)
  const address = hostname.replace(/^\[|\]$/g, '')
  return protocol === 'http:' && Object.keys(headers).length > 0 && address !== 'localhost' && addressKind(address) !== 'loopback'
}
