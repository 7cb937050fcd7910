import { createHmac, timingSafeEqual } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Context, Middleware } from 'koa'
import { captureBody, definePlugin } from 'zin'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { canonicalRequest, checkFreshness, readSignature, sha256Hex, signatureHeaderNames, signedTarget } from 'zin/signing'
import { createTestHost, type TestHost } from 'zin/testing'

/** A check that an app omits. */
export type Weakness = 'nonce' | 'race' | 'body' | 'query' | 'signature' | 'uniform' | 'binding' | 'window'

export const weakSecret = 'weak-app-secret-0123456789abcdef'
export const weakKeyId = 'dev_weak'

const names = signatureHeaderNames()

class Refused extends Error {}

/** Checks signed requests by hand, correctly except for the weaknesses. */
function guard(weak: ReadonlySet<Weakness>, verify: (token: string) => Readonly<Record<string, unknown>>): Middleware {
  const used = new Set<string>()
  const check = async (ctx: Context): Promise<void> => {
    const [, token = ''] = /^Bearer (\S+)$/.exec(ctx.get('authorization')) ?? []
    const claims = verify(token)
    if (weak.has('signature') && ctx.get(names.signature) === '') return
    const claim = readSignature(ctx.req.rawHeaders, names)
    if (!claim.ok) throw new Refused(claim.reason)
    if (!weak.has('window') && checkFreshness(claim, Date.now(), 60_000) !== undefined) throw new Refused('time')
    const target = signedTarget(ctx.originalUrl)
    if (target === undefined || claim.keyId !== weakKeyId) throw new Refused('target or key')
    const search = weak.has('query') ? '' : target.search
    const mac = createHmac('sha256', weakSecret)
      .update(canonicalRequest({ ...claim, ...target, search, method: ctx.method }))
      .digest()
    if (!timingSafeEqual(mac, Buffer.from(claim.signature, 'hex'))) throw new Refused('signature')
    if (!weak.has('binding') && (claim.deviceId !== claim.keyId || claims.deviceId !== claim.keyId)) throw new Refused('device')
    const body = await captureBody(ctx)
    if (!weak.has('body') && sha256Hex(body) !== claim.bodySha256) throw new Refused('body')
    if (used.has(claim.nonce) && !weak.has('nonce')) throw new Refused('nonce')
    // Simulates a remote store.
    if (weak.has('race')) await delay(100)
    used.add(claim.nonce)
  }
  return async (ctx, next) => {
    try {
      await check(ctx)
    } catch (error) {
      ctx.status = 401
      ctx.set('WWW-Authenticate', 'Bearer')
      ctx.body = { error: 'Unauthorized', ...(weak.has('uniform') ? { why: (error as Error).message } : {}) }
      return
    }
    await next()
  }
}

/** A listening app whose signature check has the given weaknesses. */
export async function startWeakApp(...weaknesses: readonly Weakness[]): Promise<{ readonly host: TestHost; readonly token: string }> {
  const weakAuth = definePlugin({
    name: 'weak-auth',
    version: '1.0.0',
    uses: { tokens: tokensService },
    setup: ({ middleware, services }) =>
      middleware({ key: 'weak', handler: guard(new Set(weaknesses), (token) => services.tokens.verify(token)) }),
  })
  const host = await createTestHost({
    listen: true,
    env: { APP_KEY: 'weak-app-key-0123456789abcdefghij' },
    plugins: [jwt(), weakAuth()],
    routes: [
      { method: 'GET', path: '/api/me', summary: 'Me', use: ['weak'], handler: () => ({ me: true }) },
      { method: 'POST', path: '/api/notes', summary: 'Notes', use: ['weak'], body: { type: 'object' }, handler: () => ({ noted: true }) },
    ],
  })
  const { token } = await host.service(tokensService).issue({ sub: '7', deviceId: weakKeyId })
  return { host, token }
}
