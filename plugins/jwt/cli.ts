import { type Command, defineCommand } from 'zin'
import { sha256Hex } from 'zin/signing'
import type { Tokens } from './contract.js'
import { parseDuration } from './duration.js'
import { jwtErrors } from './errors.js'

/** `zin jwt:dev`. It signs with the keys from the app's settings, and does not require the app to run. */
export function devCommand(tokens: Tokens): Command {
  return defineCommand({
    name: 'jwt:dev',
    summary: 'Create a token for development; an app with the same .env accepts it',
    needs: 'config',
    json: true,
    options: {
      sub: { type: 'string', summary: 'Claim sub, as a string', default: '1' },
      email: { type: 'string', summary: 'Claim email' },
      role: { type: 'string', summary: 'Claim role' },
      'device-id': { type: 'string', summary: 'Claim deviceId: the device that must sign requests' },
      tz: { type: 'string', summary: 'Claim tz: the time zone that requests must send' },
      ua: { type: 'string', summary: 'User agent that requests must send; its SHA-256 becomes the claim uaHash' },
      expires: { type: 'string', summary: 'Lifetime: seconds, or <n>s, <n>m, <n>h, <n>d; default: JWT_EXPIRES_IN' },
    },
    async run({ options, print, host }) {
      const { environment, production } = host.app
      if (production) throw jwtErrors.JWT_DEV_IN_PRODUCTION(environment)
      if (tokens.ephemeral) throw jwtErrors.JWT_DEV_NO_KEY()
      const expiresInSeconds = options.expires === undefined ? undefined : parseDuration(options.expires)
      if (options.expires !== undefined && expiresInSeconds === undefined) {
        print.error(`option --expires must be a number of seconds, or a number with s, m, h or d such as 12h, not "${options.expires}"`)
        return 2
      }
      const { sub, email, role, tz, ua } = options
      const claims = { sub, email, role, deviceId: options['device-id'], tz, uaHash: ua === undefined ? undefined : sha256Hex(ua) }
      const made = await tokens.issue(claims, expiresInSeconds === undefined ? {} : { expiresInSeconds })
      const { iat, exp } = made.claims
      if (!print.json) print.line(made.token)
      else
        print.record({
          token: made.token,
          algorithm: tokens.algorithm,
          expiresIn: exp - iat,
          issuedAt: new Date(iat * 1000).toISOString(),
          expiresAt: new Date(exp * 1000).toISOString(),
          payload: made.claims,
        })
      return 0
    },
  })
}
