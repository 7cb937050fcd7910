import { joinErrors } from 'zin'
import type { Settings } from './assemble.js'
import { type Keys, sharedId } from './auth/keys.js'
import { rdbProxyErrors } from './errors.js'
import type { RdbProxyOptions } from './options.js'

const minSecretBytes = 32

export interface CheckInput {
  readonly settings: Settings
  readonly options: RdbProxyOptions
  readonly keys: Keys
  readonly production: boolean
  /** Whether the app listens on loopback addresses only. */
  readonly loopback: boolean
  /** Whether this process serves requests. */
  readonly serving: boolean
}

/** Returns whether unsigned requests are refused. */
export function signingRequired(settings: Settings, keys: Keys): boolean {
  const { RDB_PROXY_REQUIRE_SIGNING: required } = settings
  return required === 'auto' ? keys.count > 0 : required === 'true'
}

/** Throws RDB_PROXY_CONFIG for unsafe or contradictory settings, an AggregateError for several; returns warnings. Pure. */
export function checkSettings(input: CheckInput): readonly string[] {
  const faults = faultsOf(input).map((what) => rdbProxyErrors.RDB_PROXY_CONFIG(what))
  if (faults.length > 0) throw joinErrors(faults)
  const { keys, serving, settings } = input
  if (!serving || signingRequired(settings, keys)) return []
  const change = keys.count === 0 ? 'set RDB_PROXY_SECRET' : 'set RDB_PROXY_REQUIRE_SIGNING to auto or true'
  return [`unsigned requests are accepted: every process on this machine may run SQL; ${change} to change that`]
}

function faultsOf({ settings, options, keys, production, loopback, serving }: CheckInput): readonly string[] {
  const faults: string[] = []
  const fail = (what: string): void => void faults.push(what)
  const ids = options.keys.map(({ id }) => id)
  const twice = ids.find((id, at) => ids.indexOf(id) < at || id === settings.RDB_PROXY_KEY_ID)
  if (twice !== undefined) fail(`two keys have the id "${twice}"; give each its own`)
  if (settings.RDB_PROXY_KEY_ID === '' && settings.RDB_PROXY_SECRET !== '' && ids.includes(sharedId))
    fail(`the id "${sharedId}" is reserved for RDB_PROXY_SECRET without RDB_PROXY_KEY_ID; set RDB_PROXY_KEY_ID or rename the key`)
  if (settings.RDB_PROXY_KEY_ID !== '' && settings.RDB_PROXY_SECRET === '')
    fail('RDB_PROXY_KEY_ID is set but RDB_PROXY_SECRET is not; set both')
  if (settings.RDB_PROXY_MODE === 'registry' && settings.RDB_PROXY_STATEMENTS_FILE === '')
    fail('RDB_PROXY_MODE=registry requires RDB_PROXY_STATEMENTS_FILE')
  if (options.timeoutMs > options.maxTimeoutMs) fail('the option timeoutMs is larger than maxTimeoutMs')
  if (!serving) return faults
  const required = signingRequired(settings, keys)
  if (settings.RDB_PROXY_REQUIRE_SIGNING === 'true' && keys.count === 0)
    fail('RDB_PROXY_REQUIRE_SIGNING=true but no key is configured, so every request would be refused; set RDB_PROXY_SECRET')
  if (!required && !loopback)
    fail(
      'unsigned requests are accepted on loopback addresses only; set RDB_PROXY_SECRET and RDB_PROXY_REQUIRE_SIGNING=true, or listen on 127.0.0.1',
    )
  if (production) {
    if (!required) fail('production requires signed requests; set RDB_PROXY_SECRET and leave RDB_PROXY_REQUIRE_SIGNING at auto')
    if (settings.DB_USERNAME === 'root' && settings.DB_PASSWORD === '')
      fail('it would log in to the database as root with an empty password; create a user for it and set DB_USERNAME and DB_PASSWORD')
    const ofKeys = options.keys.flatMap(({ secret, secretsBackup = [] }) => [secret, ...secretsBackup])
    const secrets = [settings.RDB_PROXY_SECRET, ...ofKeys].filter((secret) => secret !== '')
    if (secrets.some((secret) => Buffer.byteLength(secret) < minSecretBytes))
      fail(`production requires secrets of ${minSecretBytes} bytes or more`)
  }
  return faults
}
