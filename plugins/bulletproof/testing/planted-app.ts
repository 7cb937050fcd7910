import { createSecretKey } from 'node:crypto'
import jsonwebtoken, { type VerifyOptions } from 'jsonwebtoken'
import type { Context, Middleware } from 'koa'
import { type Clock, definePlugin, type Plugin, type PluginContext } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database, databaseService } from 'zin/plugins/database'
import { type Claims, jwt, type Tokens, tokensService } from 'zin/plugins/jwt'
import { login } from 'zin/plugins/login'
import { signatureHeaderNames } from 'zin/signing'
import { createTestHost, type TestHost } from 'zin/testing'

/**
 * A hole in the real plugins: revocation is not checked, any key may sign for the device in the header and the token, audience or issuer
 * are not compared, expiry is compared only for tokens seen before, or a removed device leaves no tombstone.
 */
export type Plant = 'revocation' | 'key' | 'audience' | 'issuer' | 'expiry' | 'not-before' | 'tombstone'

/** The real time, which can be advanced. */
export interface ShiftedClock extends Clock {
  advance(ms: number): void
}

export interface PlantedApp {
  readonly host: TestHost
  readonly clock: ShiftedClock
}

export const plantedEnv = {
  APP_KEY: 'planted-app-key-0123456789abcdefghij',
  JWT_SECRET: 'planted-jwt-secret-0123456789abcdefg',
  BULLETPROOF_SIGNING_SECRET: 'planted-shared-secret-0123456789abcd',
  JWT_ISSUER: 'planted',
  JWT_AUDIENCE: 'planted',
}
export const users = { 'ada@example.com': 'correct-horse-1', 'bob@example.com': 'correct-horse-2' } as const

const names = signatureHeaderNames()

/** The real app, listening, with one hole. */
export async function startPlantedApp(plant?: Plant): Promise<PlantedApp> {
  const clock = shiftedClock()
  const unbound = new Set<string>()
  const host = await createTestHost({
    listen: true,
    clock,
    env: plantedEnv,
    plugins: [
      database(),
      plantedJwt(plant, unbound),
      plantedBulletproof(plant, unbound),
      forgetful(plant),
      login({
        verifyCredentials: async (email, password) => (users[email as keyof typeof users] === password ? { id: email, email } : undefined),
      }),
    ],
  })
  clock.advance(1_000)
  return { host, clock }
}

function shiftedClock(): ShiftedClock {
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    monotonic: () => performance.now(),
    advance: (ms) => {
      ahead += ms
    },
  }
}

/** @param unbound tokens whose next check omits the device. */
function plantedJwt(plant: Plant | undefined, unbound: Set<string>): Plugin {
  const setup = (ctx: PluginContext): unknown =>
    jwt.spec.setup?.({
      ...ctx,
      provide: (ref, service) => {
        const planted = (): Partial<Tokens> => (plant === 'key' ? withoutDevice(service as Tokens, unbound) : holes(plant, ctx))
        ctx.provide(ref, ref.id === tokensService.id ? ({ ...service, ...planted() } as typeof service) : service)
      },
    })
  return definePlugin({ ...jwt.spec, setup: setup as never })()
}

function withoutDevice(tokens: Tokens, unbound: Set<string>): Partial<Tokens> {
  return {
    verify(token, at) {
      const { deviceId, ...claims } = tokens.verify(token, at)
      return unbound.delete(token) || deviceId === undefined ? claims : { ...claims, deviceId }
    },
  }
}

function holes(plant: Plant | undefined, { clock }: PluginContext): Partial<Tokens> {
  if (plant === 'revocation') return { isRevokedBy: () => false, isRevoked: async () => false }
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience } = plantedEnv
  const checks: Partial<Record<Plant, (isKnown: boolean) => VerifyOptions>> = {
    audience: () => ({ issuer }),
    issuer: () => ({ audience }),
    expiry: (isKnown) => ({ issuer, audience, ignoreExpiration: !isKnown }),
    'not-before': () => ({ issuer, audience, ignoreNotBefore: true }),
  }
  const check = plant && checks[plant]
  if (check === undefined) return {}
  const key = createSecretKey(Buffer.from(plantedEnv.JWT_SECRET))
  const known = new Set<string>()
  return {
    verify(token, at = clock.now()) {
      const options = { ...check(known.has(token)), algorithms: ['HS256' as const], clockTimestamp: Math.floor(at / 1000) }
      const claims = jsonwebtoken.verify(token, key, options) as Claims
      known.add(token)
      return claims
    },
  }
}

function plantedBulletproof(plant: Plant | undefined, unbound: Set<string>): Plugin {
  const { spec } = bulletproof
  const setup = (ctx: PluginContext): unknown => {
    const { tokens } = ctx.services as unknown as { readonly tokens: Tokens }
    const loosen =
      (handler: Middleware): Middleware =>
      (request, next) => {
        if (plant === 'key') signAsNamed(request, tokens, unbound)
        return handler(request, next)
      }
    return spec.setup?.({ ...ctx, middleware: (given) => ctx.middleware({ ...given, handler: loosen(given.handler) }) })
  }
  return definePlugin({ ...spec, setup: setup as never })({ deviceStore: 'db' })
}

/** Compares the device id with the token, and the key id with nothing. */
function signAsNamed(ctx: Context, tokens: Tokens, unbound: Set<string>): void {
  const { rawHeaders, headers } = ctx.req
  const keyId = headers[names.keyId]
  const token = ctx.get('authorization').slice('Bearer '.length)
  const claims = verified(tokens, token)
  if (typeof keyId !== 'string' || claims === undefined || claims.deviceId !== headers[names.deviceId]) return
  unbound.add(token)
  const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === names.deviceId)
  rawHeaders[at + 1] = keyId
}

function verified(tokens: Tokens, token: string): Claims | undefined {
  try {
    return tokens.verify(token)
  } catch {
    return undefined
  }
}

/** Keeps no tombstones of removed devices. */
function forgetful(plant: Plant | undefined): Plugin {
  return definePlugin({
    name: 'forgetful',
    version: '1.0.0',
    uses: { database: databaseService },
    setup: ({ use, services }) =>
      use(async (ctx, next) => {
        await next()
        if (plant === 'tombstone' && ctx.method === 'DELETE')
          await services.database.tables().deleteFrom('bulletproof_devices').where('removed_at', 'is not', null).execute()
      }),
  })()
}
