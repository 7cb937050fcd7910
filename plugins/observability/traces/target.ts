import { addressKind, type SettingValues } from 'zin'
import { observabilityErrors } from '../errors.js'
import type { observabilitySettings } from '../settings.js'

/** Where OTLP goes. */
export interface OtlpTarget {
  /** Without the last slash. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
}

type Settings = Pick<
  SettingValues<typeof observabilitySettings>,
  'WORKER_OPENTELEMETRY_ENABLED' | 'WORKER_OPENTELEMETRY_ENDPOINT' | 'APM_ENABLED' | 'APM_API_KEY' | 'APM_API_KEY_HEADER'
>

/** Undefined: OpenTelemetry is off. Throws OPENTELEMETRY_MISCONFIGURED, never with the key. */
export function otlpTarget(settings: Settings): OtlpTarget | undefined {
  const { APM_API_KEY: key, APM_API_KEY_HEADER, APM_ENABLED, WORKER_OPENTELEMETRY_ENABLED, WORKER_OPENTELEMETRY_ENDPOINT } = settings
  if (!WORKER_OPENTELEMETRY_ENABLED && !APM_ENABLED) return undefined
  const endpoint = checkEndpoint(WORKER_OPENTELEMETRY_ENDPOINT)
  if (!APM_ENABLED) return { endpoint, headers: {} }
  if (key === '')
    throw observabilityErrors.OPENTELEMETRY_MISCONFIGURED(
      'APM_API_KEY',
      'is not set, and APM_ENABLED is true; set the key, or APM_ENABLED to false',
    )
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw observabilityErrors.OPENTELEMETRY_MISCONFIGURED('APM_API_KEY', 'has characters that a header cannot carry')
  }
  const header = APM_API_KEY_HEADER.toLowerCase()
  return { endpoint, headers: { [header]: header === 'authorization' ? `Bearer ${key}` : key } }
}

function checkEndpoint(text: string): string {
  const fail = (why: string): never => {
    throw observabilityErrors.OPENTELEMETRY_MISCONFIGURED('WORKER_OPENTELEMETRY_ENDPOINT', why)
  }
  if (!URL.canParse(text)) fail('is not a URL; give one such as http://127.0.0.1:4318')
  const { hash, password, pathname, protocol, search, username } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:')
    fail('is neither http: nor https:; OTLP is sent over HTTP, on port 4318 of a collector')
  if (username !== '' || password !== '') fail('contains a user or password; send a key by APM_API_KEY instead')
  if (search !== '' || hash !== '') fail('has a query or fragment; give the part before /v1/traces')
  const [signal] = /\/v1\/(traces|metrics|logs)\/*$/.exec(pathname) ?? []
  if (signal !== undefined) fail(`ends in ${signal}, which is added to it; give the part before`)
  return text.replace(/\/+$/, '')
}

/** Whether the key would cross a network in the clear. */
export function sendsKeyUnencrypted({ endpoint, headers }: OtlpTarget): boolean {
  const { hostname, protocol } = new URL(endpoint)
  const address = hostname.replace(/^\[|\]$/g, '')
  return protocol === 'http:' && Object.keys(headers).length > 0 && address !== 'localhost' && addressKind(address) !== 'loopback'
}
