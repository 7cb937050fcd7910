import { checkedValue, definePlugin, messageOf, optional, reportedPath } from 'zin'
import { type Kv, kvService } from 'zin/plugins/kv'
import { parseSecrets } from 'zin/signing'
import { devCommand } from './cli.js'
import { credentialsService, tokensService } from './contract.js'
import { AcceptedCredentials } from './credentials.js'
import { jwtErrors } from './errors.js'
import { jwtHooks } from './hooks.js'
import { type Keyring, randomKeys, readKeys } from './keys.js'
import { authMiddleware } from './middleware.js'
import { jwtOptions } from './options.js'
import { kvRevocations, memoryRevocations } from './revocations.js'
import { jwtSettings } from './settings.js'

export { checkedClaims, inTime, maxTokenBytes } from './claims.js'
export type { Claims, Credential, CredentialKind, Credentials, PublicJwk, Refused, Tokens } from './contract.js'
export { bearerScheme, credentialsService, tokensService } from './contract.js'
export { newSecretCommand } from './errors.js'
export type { JwtHooks } from './hooks.js'
// The types of `ctx.state` and `ctx.request.user` in routes with the key `auth`.
export type {} from './middleware.js'
export type { JwtOptions } from './options.js'
export { role } from './role.js'
export { appKeySettings, earlierAppKeySettings } from './settings.js'
export { VerifiedTokens } from './verified.js'

/** Bearer tokens: issues, verifies and revokes JWTs, and protects routes that list the middleware key `auth`. */
export const jwt = definePlugin({
  name: 'jwt',
  version: '1.0.0',
  description: 'Bearer tokens (JWT): issue, verify, revoke; middleware key auth',
  uses: { kv: optional(kvService) },
  provides: [tokensService, credentialsService],
  hooks: jwtHooks,
  errors: jwtErrors,
  settings: jwtSettings,
  options: jwtOptions,
  async setup(ctx) {
    const { options, settings, services, host, clock, log, provide, middleware, command, every, onStart } = ctx
    const configured = (): Keyring =>
      readKeys({
        algorithm: options.algorithm ?? settings.JWT_ALGORITHM,
        secret: settings.JWT_SECRET,
        earlierSecrets: parseSecrets(settings.JWT_SECRET_BK, 'JWT_SECRET_BK'),
        appKey: settings.APP_KEY,
        earlierAppKeys: parseSecrets(settings.APP_KEY_BK, 'APP_KEY_BK'),
        privateKey: settings.JWT_PRIVATE_KEY,
        publicKey: settings.JWT_PUBLIC_KEY,
        otherPublicKeys: parseSecrets(settings.JWT_PUBLIC_KEY_BK, 'JWT_PUBLIC_KEY_BK'),
        production: host.app.production,
      })
    const keys = checkedValue(ctx, configured, (fault) => ({ ...randomKeys(), ephemeral: false, fault }))
    for (const warning of keys.warnings) log.warn(warning)

    const expiresIn = options.expiresInSeconds ?? settings.JWT_EXPIRES_IN
    const maxLifetime = options.maxLifetimeSeconds ?? Math.max(86_400, expiresIn)
    ctx.onCheck(() => {
      if (expiresIn > maxLifetime) throw jwtErrors.JWT_LIFETIME_INVALID(expiresIn, maxLifetime)
    })
    const rules = {
      issuer: options.issuer ?? (settings.JWT_ISSUER || host.app.name),
      audience: options.audience ?? (settings.JWT_AUDIENCE || host.app.name),
      expiresIn,
      maxLifetime,
    }

    // Decided once: if kv becomes unavailable later, requests must be refused rather than revocations ignored.
    const revocations = services.kv === undefined ? memoryRevocations(clock) : kvRevocations(() => services.kv, services.kv.birthKey)
    if (revocations.birthKey === undefined) {
      if (host.app.production) log.warn('no kv plugin is enabled: token revocations apply to this process only, until it ends')
      every(60_000, revocations.sweep)
    }
    let started = false
    let formerSince: ReadonlyMap<string, number> = new Map()
    const bootedAt = clock.now()
    onStart(async () => {
      formerSince = new Map(
        await Promise.all([...keys.former].map(async (kid) => [kid, await firstSeen(services.kv, kid, bootedAt)] as const)),
      )
      started = true
    })
    // Imported lazily: other plugins import this one, and apps without it need not load jsonwebtoken.
    const { createTokens } = await import('./service.js')
    const tokens = createTokens({
      keys,
      rules,
      revocations,
      formerSince: (kid) => formerSince.get(kid) ?? bootedAt,
      userRevoked: async (sub) => {
        const [failure] = await ctx.hooks.slot('onRevokeUser').call(sub)
        if (failure !== undefined) throw failure.error
      },
      accessEnded: (sub) => ctx.hooks.slot('onAccessEnded').call(sub),
      isStarted: () => started,
      clock,
    })
    const others = new AcceptedCredentials()
    provide(tokensService, tokens)
    provide(credentialsService, others)
    command(devCommand(tokens))
    middleware(
      authMiddleware({
        tokens,
        others,
        refused: (ctx, error, layer) =>
          log.debug({ layer, path: reportedPath(ctx, ctx.path), why: messageOf(error.cause ?? error) }, 'bearer token refused'),
      }),
    )
  },
})

/** When an app of these stores first had the key as a former one, in ms since 1970; without kv, the start of the process. */
async function firstSeen(kv: Kv | undefined, kid: string, now: number): Promise<number> {
  const key = `jwt:former:${kid}`
  await kv?.set(key, `${now}`, { ifAbsent: true })
  return Number((await kv?.get(key)) ?? now)
}
