import type { Clock } from 'zin'
import type { AuthStrategy } from '../contract.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import type { MicroservicesOptions } from '../options.js'
import { apiKey } from './api-key.js'
import type { ServiceAuth, TakeNonce } from './contract.js'
import { serviceJwt } from './jwt.js'
import { signedCalls } from './signed.js'

/** Values of the secret settings; empty if not set. */
export interface ServiceSecrets {
  readonly SERVICE_API_KEY: string
  readonly SERVICE_JWT_SECRET: string
  readonly SERVICE_SIGNING_SECRET: string
}

export interface AuthOptions {
  readonly secrets: ServiceSecrets
  /** Name of this app, sent with its calls. */
  readonly caller: string
  readonly clock: Clock
  readonly takeNonce: TakeNonce
  readonly custom: Pick<MicroservicesOptions, 'authenticate' | 'credentials'>
}

const none: ServiceAuth = { credentials: () => ({}), refusal: () => undefined }

/** Returns the auth strategy of a service. */
export function authOf(
  { name, auth }: Pick<ServiceDefinition, 'name' | 'auth'>,
  { secrets, caller, clock, custom, takeNonce }: AuthOptions,
): ServiceAuth {
  const keyId = caller.replaceAll(/[^\w.:@-]/g, '-').slice(0, 128) || 'zin-app'
  const make: Readonly<Record<AuthStrategy, () => ServiceAuth>> = {
    none: () => none,
    'api-key': () => apiKey(secrets.SERVICE_API_KEY),
    jwt: () => serviceJwt({ secret: secrets.SERVICE_JWT_SECRET, service: name, caller, clock }),
    signed: () => signedCalls({ secret: secrets.SERVICE_SIGNING_SECRET, service: name, caller: keyId, clock, takeNonce }),
    custom: () => customAuth(name, custom),
  }
  return make[auth]()
}

/** Without `credentials` it sends nothing; without `authenticate` it refuses everything. */
function customAuth(service: string, { authenticate, credentials }: AuthOptions['custom']): ServiceAuth {
  return {
    credentials: async () => lowerCase((await credentials?.(service)) ?? {}),
    async refusal({ method, path, headers }) {
      const accepted = authenticate === undefined ? false : await authenticate({ service, method, path, headers })
      return accepted === true ? undefined : 'the custom strategy refused it'
    },
  }
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
