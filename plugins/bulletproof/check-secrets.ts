import type { ZinError } from 'zin'
import { bulletproofErrors } from './errors.js'
import type { SharedKeyring } from './shared-keyring.js'

export interface SecretFacts {
  readonly production: boolean
  /** Whether this process serves HTTP requests; commands and processes that only run jobs do not. */
  readonly serving: boolean
  readonly shared: SharedKeyring
  /** Whether the app refuses requests for other hosts. */
  readonly knowsHost: boolean
  readonly sharedSecretFor: 'none' | 'listed' | 'unknown'
  /** Bytes of APP_KEY. */
  readonly appKeyBytes: number
  readonly deviceDriver: 'memory' | 'kv' | 'db'
  readonly nonceDriver: 'memory' | 'kv' | 'db'
}

/** Minimum length of a secret in production, in bytes. */
export const MIN_SECRET_BYTES = 32

/** Returns the errors that prevent a start in production, and the warnings for the operator. */
export function checkSecrets(facts: SecretFacts): { readonly errors: readonly ZinError[]; readonly warnings: readonly string[] } {
  const { production, serving, shared, knowsHost, sharedSecretFor, appKeyBytes, deviceDriver, nonceDriver } = facts
  const uses = sharedSecretFor !== 'none'
  // Whatever the value of `sharedSecretFor`: the service for signed requests accepts the secret from callers without a device.
  const short = shared.source !== undefined && shared.bytes < MIN_SECRET_BYTES
  const unsealed = deviceDriver !== 'memory' && appKeyBytes === 0
  const weakSeal = deviceDriver !== 'memory' && appKeyBytes > 0 && appKeyBytes < MIN_SECRET_BYTES
  const problems = [
    short ? bulletproofErrors.BULLETPROOF_SECRET_TOO_SHORT(shared.source ?? '', shared.bytes) : undefined,
    unsealed ? bulletproofErrors.BULLETPROOF_APP_KEY_MISSING(deviceDriver) : undefined,
    weakSeal ? bulletproofErrors.BULLETPROOF_APP_KEY_TOO_SHORT(appKeyBytes) : undefined,
  ]
  const warnings = [
    short && !production ? `${shared.source} has ${shared.bytes} bytes; production refuses fewer than ${MIN_SECRET_BYTES}` : '',
    unsealed && !production
      ? 'APP_KEY is not set: device secrets are encrypted with a key of this process, so devices are lost when it ends; set APP_KEY in .env'
      : '',
    weakSeal && !production ? `APP_KEY has ${appKeyBytes} bytes; production refuses fewer than ${MIN_SECRET_BYTES}` : '',
    uses && shared.source !== undefined && shared.source !== 'BULLETPROOF_SIGNING_SECRET'
      ? `${shared.source} is also the shared signing secret; run "zin key:bulletproof" to create a separate one for signing`
      : '',
    shared.shortBackups > 0
      ? `${shared.shortBackups} of the secrets in BULLETPROOF_SIGNING_SECRET_BK have fewer than ${MIN_SECRET_BYTES} bytes and are ignored in production`
      : '',
    production && serving && sharedSecretFor === 'unknown' && shared.source !== undefined
      ? 'the shared secret is accepted for any key id that matches no device; set the option sharedSecretFor of bulletproof to "listed" or "none" in zin.config.ts'
      : '',
    production && serving && shared.source !== undefined && !knowsHost
      ? 'the app accepts any Host, so a request signed for another app with the same shared secret is valid here too; list the hosts of this app in app.allowedHosts of zin.config.ts'
      : '',
    production && serving && nonceDriver === 'memory'
      ? 'nonces are kept in the memory of this process; enable the plugin kv to run several instances'
      : '',
    production && deviceDriver === 'memory'
      ? 'devices are kept in the memory of this process and lost when it ends; enable the plugin database or kv'
      : '',
  ].filter((warning) => warning !== '')
  return { errors: production ? problems.filter((problem) => problem !== undefined) : [], warnings }
}
