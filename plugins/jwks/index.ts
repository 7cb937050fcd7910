import { checkEgressUrl, definePlugin, importPackage, messageOf } from 'zin'
import { credentialsService, tokensService } from 'zin/plugins/jwt'
import { jwksErrors } from './errors.js'
import { fetchKeys } from './fetch-keys.js'
import { foreignTokens } from './foreign-tokens.js'
import { IssuerKeys } from './issuer-keys.js'
import { type JwksOptions, jwksOptions } from './options.js'
import { jwksRoutes } from './routes.js'

export type { JwksOptions, MapClaims } from './options.js'

/** Tokens of other issuers beside those of the app, and the public keys of the app for other services. */
export const jwks = definePlugin({
  name: 'jwks',
  version: '1.0.0',
  description: 'Tokens of other issuers (OpenID Connect, JWKS) beside those of the app, and the public keys of the app',
  uses: { tokens: tokensService, credentials: credentialsService },
  packages: { jose: { when: '`issuers` is not empty', needed: ({ options }) => options.issuers.length > 0 } },
  errors: jwksErrors,
  options: jwksOptions,
  async setup(ctx) {
    const { options, services, clock, log } = ctx
    checkIssuers(options)
    ctx.routes(jwksRoutes(() => services.tokens.publicKeys))
    if (options.issuers.length === 0) return

    const jose = await importPackage('jose', () => import('jose'))
    const stopping = new AbortController()
    const { allowPrivate, timeoutMs, maxBytes, cacheSeconds, cooldownSeconds } = options
    const staleMs = Math.max(options.staleSeconds, cacheSeconds) * 1000
    const issuers = options.issuers.map((issuer) => ({
      ...issuer,
      keys: new IssuerKeys({
        issuer: issuer.issuer,
        fetch: () => fetchKeys({ ...issuer, allowPrivate, timeoutMs, maxBytes }, stopping.signal),
        toSet: jose.createLocalJWKSet,
        cacheMs: cacheSeconds * 1000,
        staleMs,
        cooldownMs: cooldownSeconds * 1000,
        clock,
        log,
      }),
    }))
    const fromToken = foreignTokens({ issuers, tokens: () => services.tokens, jose, clock })
    ctx.onStop(services.credentials.accept({ name: 'token of another issuer', fromToken }))
    ctx.onStop(async () => {
      stopping.abort(new Error('the plugin jwks stops'))
      await Promise.all(issuers.map(({ keys }) => keys.settled()))
    })
  },
})

/** Validates what the schema of the options cannot express. */
function checkIssuers({ issuers, allowPrivate }: JwksOptions): void {
  const names = new Set<string>()
  for (const { issuer, jwksUrl } of issuers) {
    if (names.has(issuer)) throw jwksErrors.JWKS_OPTION_INVALID(issuer, 'is listed twice')
    names.add(issuer)
    try {
      checkEgressUrl(jwksUrl ?? issuer, { allowPrivate, schemes: allowPrivate ? ['https:', 'http:'] : ['https:'] })
    } catch (error) {
      const what = jwksUrl === undefined ? 'has no jwksUrl, and cannot be used for discovery' : 'has a jwksUrl that cannot be used'
      throw jwksErrors.JWKS_OPTION_INVALID(issuer, `${what}: ${messageOf(error)}`)
    }
  }
}
