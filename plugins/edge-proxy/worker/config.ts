import { parseRegistry, type Registry, RegistryError, SCOPE_PATTERN } from 'zin/plugins/sql-wire'
import {
  DEFAULT_HEADER_PREFIX,
  KEY_ID_PATTERN,
  type SignatureHeaderNames,
  signatureHeaderNames,
  type WebSigningKey,
  webSigningKey,
} from 'zin/signing/web'
import { edgeLimits } from './limits.js'

/** Settings of the proxy as text, with the same names in workerd, in `.env` and in an app. */
export interface EdgeSettings {
  /** Shared secret of the callers. Default: `APP_KEY`. */
  readonly EDGE_REMOTE_SECRET?: string | undefined
  readonly APP_KEY?: string | undefined
  /** `registry` (default) or `sql`. */
  readonly EDGE_REMOTE_MODE?: string | undefined
  /** JSON map of statements. */
  readonly EDGE_STATEMENTS_JSON?: string | undefined
  /** Requests per minute for each key id; 0: no limit. Default 6000. */
  readonly EDGE_RATE_PER_MINUTE?: string | undefined
  /** Requests per minute of all key ids together; 0: no limit. Default 60,000. */
  readonly EDGE_RATE_TOTAL_PER_MINUTE?: string | undefined
  /** JSON map of key ids to lists of scopes. */
  readonly EDGE_SCOPES?: string | undefined
  /** Name of the D1 binding. Default `DB`. */
  readonly EDGE_BINDING?: string | undefined
  /** Default `x-sig-`. */
  readonly SIGNATURE_HEADER_PREFIX?: string | undefined
}

export type EdgeMode = 'registry' | 'sql'

/** Configuration of the handler. */
export interface EdgeConfig {
  readonly mode: EdgeMode
  readonly registry: Registry
  readonly key: WebSigningKey
  readonly names: SignatureHeaderNames
  readonly ratePerMinute: number
  readonly totalPerMinute: number
  /** The scopes of each key id; undefined if EDGE_SCOPES is empty. */
  readonly scopes: ReadonlyMap<string, ReadonlySet<string>> | undefined
}

/** Thrown for invalid settings. The message names them and never quotes a secret. */
export class EdgeConfigError extends Error {
  override readonly name = 'EdgeConfigError'
  readonly code = 'CONFIG_ERROR'
}

export const noSecret = 'EDGE_REMOTE_SECRET is not set, and neither is APP_KEY; callers sign requests with this shared secret'

export const defaultBinding = 'DB'
export const defaultRatePerMinute = 6000
export const defaultTotalPerMinute = 60_000

/** Reads and checks the settings. Throws an {@link EdgeConfigError}. */
export async function readConfig(settings: EdgeSettings): Promise<EdgeConfig> {
  const secret = settings.EDGE_REMOTE_SECRET || settings.APP_KEY
  if (!secret) throw new EdgeConfigError(noSecret)
  return {
    mode: modeOf(settings.EDGE_REMOTE_MODE),
    registry: await registryOf(settings.EDGE_STATEMENTS_JSON),
    key: await webSigningKey(secret),
    names: namesOf(settings.SIGNATURE_HEADER_PREFIX),
    ratePerMinute: rateOf('EDGE_RATE_PER_MINUTE', settings.EDGE_RATE_PER_MINUTE, defaultRatePerMinute),
    totalPerMinute: rateOf('EDGE_RATE_TOTAL_PER_MINUTE', settings.EDGE_RATE_TOTAL_PER_MINUTE, defaultTotalPerMinute),
    scopes: scopesOf(settings.EDGE_SCOPES),
  }
}

/** Returns the name of the D1 binding. Throws an {@link EdgeConfigError}. */
export function bindingName({ EDGE_BINDING }: EdgeSettings): string {
  const name = EDGE_BINDING || defaultBinding
  if (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) return name
  throw new EdgeConfigError('EDGE_BINDING must be an identifier of letters, digits and underscores, such as DB')
}

function modeOf(mode: string | undefined): EdgeMode {
  if (!mode || mode === 'registry') return 'registry'
  if (mode === 'sql') return 'sql'
  throw new EdgeConfigError('EDGE_REMOTE_MODE must be "registry" or "sql"')
}

function rateOf(name: string, text: string | undefined, standard: number): number {
  if (!text) return standard
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new EdgeConfigError(`${name} must be a non-negative integer; 0: no limit`)
}

function scopesOf(json: string | undefined): EdgeConfig['scopes'] {
  if (!json) return undefined
  const fault = new EdgeConfigError(
    'EDGE_SCOPES must be a JSON object of key ids and lists of scopes, such as {"shop": ["read", "users:read"]}',
  )
  let map: unknown
  try {
    map = JSON.parse(json)
  } catch {
    throw fault
  }
  if (typeof map !== 'object' || map === null || Array.isArray(map)) throw fault
  return new Map(
    Object.entries(map).map(([keyId, scopes]: [string, unknown]) => {
      const isList = Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string' && SCOPE_PATTERN.test(scope))
      if (!KEY_ID_PATTERN.test(keyId) || !isList) throw fault
      return [keyId, new Set(scopes as readonly string[])]
    }),
  )
}

function namesOf(prefix: string | undefined): SignatureHeaderNames {
  try {
    return signatureHeaderNames(prefix || DEFAULT_HEADER_PREFIX)
  } catch {
    throw new EdgeConfigError('SIGNATURE_HEADER_PREFIX must be lower case and end with "-", such as "x-sig-"')
  }
}

async function registryOf(json: string | undefined): Promise<Registry> {
  const { maxSqlBytes, maxParams } = edgeLimits
  try {
    return await parseRegistry(json || '{}', { dialect: 'sqlite', maxSqlBytes, maxParams })
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error
    throw new EdgeConfigError(`EDGE_STATEMENTS_JSON: ${error.problems.join('; ')}`)
  }
}
