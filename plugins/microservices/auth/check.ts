import { addressKind } from 'zin'
import type { ServiceDefinition } from '../definitions/definition.js'
import type { AuthOptions, ServiceSecrets } from './strategies.js'

const minBytes = 32
const generate = `node -e "console.log(require('crypto').randomBytes(32).toString('base64url'))"`
const settingOf = { 'api-key': 'SERVICE_API_KEY', jwt: 'SERVICE_JWT_SECRET', signed: 'SERVICE_SIGNING_SECRET' } as const satisfies Readonly<
  Record<string, keyof ServiceSecrets>
>

/** Returns one line for each service that cannot use its auth strategy. */
export function authProblems(
  services: readonly ServiceDefinition[],
  { secrets, custom, production }: Pick<AuthOptions, 'secrets' | 'custom'> & { readonly production: boolean },
): readonly string[] {
  return services.flatMap((service) => {
    const { auth, local, name, urls } = service
    if (auth === 'none') {
      const open = production && ![...(local === undefined ? [] : [local.host]), ...urls.map(hostOf)].every(isLoopback)
      return open
        ? [
            `service "${name}" has the strategy none, which production allows only on loopback addresses (127.0.0.1); choose another auth.strategy`,
          ]
        : []
    }
    if (auth === 'custom') return customProblems(service, custom)
    const setting = settingOf[auth]
    const secret = secrets[setting].trim()
    if (secret === '')
      return [
        `${setting} is empty, and service "${name}" has the strategy ${auth}; set it in the environment or .env. A new one: ${generate}`,
      ]
    const { length } = Buffer.from(secret)
    return production && length < minBytes
      ? [`${setting} has ${length} bytes, and service "${name}" needs ${minBytes} or more in production. A new one: ${generate}`]
      : []
  })
}

function customProblems({ local, name }: ServiceDefinition, { authenticate, credentials }: AuthOptions['custom']): readonly string[] {
  if (local?.process === 'own')
    return [`service "${name}" has the strategy custom, whose functions cannot be sent to a child process; set process: 'shared'`]
  if (credentials === undefined) return [`service "${name}" has the strategy custom, and the option credentials is missing`]
  return local !== undefined && authenticate === undefined
    ? [`service "${name}" has the strategy custom, and the option authenticate is missing`]
    : []
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || addressKind(host) === 'loopback'
}
