import { type Plugin, requestContext, type ServiceRef } from 'zin'
import { type BulletproofOptions, bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { createHeaders } from 'zin/signer'
import { createTestHost, type FakeClock, fakeClock, type TestHost, type TestHostOptions } from 'zin/testing'

export const appKey = 'app-key-canary-0123456789abcdefghijk'
export const sharedSecret = 'shared-canary-0123456789abcdefghijkl'

/** The sender of a request, and its deviations from a valid one. */
export interface Sending {
  readonly method?: string
  readonly path?: string
  readonly body?: string
  readonly keyId?: string
  readonly secret?: string
  readonly token?: string | undefined
  /** How far the sender's clock is ahead, in ms. */
  readonly skew?: number
  readonly nonce?: string
  /** Headers that replace the signed ones; `undefined` omits a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export interface TestApp {
  readonly host: TestHost
  readonly clock: FakeClock
  readonly deviceId: string
  readonly secret: string
  readonly token: string
  /** Issues a token like that of the login, with other claims. */
  tokenWith(claims: Readonly<Record<string, unknown>>): Promise<string>
  headersOf(sending?: Sending): Promise<Record<string, string>>
  send(sending?: Sending): ReturnType<TestHost['inject']>
  service<T>(ref: ServiceRef<T>): T
}

export interface TestAppOptions extends Omit<TestHostOptions, 'plugins'> {
  readonly plugins?: readonly Plugin[]
  readonly options?: Partial<BulletproofOptions>
}

/** An app with a signed route and a device of user 7. Its clock has advanced since the start. */
export async function withApp(given: TestAppOptions, test: (app: TestApp) => Promise<void>): Promise<void> {
  const { plugins = [], options = {}, env, ...rest } = given
  const clock = fakeClock()
  const use = ['auth', 'bulletproof']
  const echo = (ctx: { request: unknown }): unknown => ({
    user: (ctx.request as { user?: { sub?: unknown } }).user?.sub,
    context: requestContext()?.userId,
  })
  const host = await createTestHost({
    clock,
    ...rest,
    env: { APP_KEY: appKey, BULLETPROOF_SIGNING_SECRET: sharedSecret, ...env },
    plugins: [...plugins, jwt(), bulletproof(options)],
    routes: [
      { method: 'GET', path: '/api/me', summary: 'Me', use, handler: echo },
      { method: 'GET', path: '/api/alone', summary: 'Without the middleware auth', use: ['bulletproof'], handler: echo },
      {
        method: 'POST',
        path: '/api/notes',
        summary: 'Notes',
        use,
        bodyLimit: 1000,
        body: { type: 'object' },
        handler: (ctx) => ({ got: ctx.input.body }),
      },
      ...(given.routes ?? []),
    ],
  })
  try {
    const tokens = host.service(tokensService)
    const { device, secret } = await host.service(devicesService).enroll({ userId: '7' })
    const { deviceId } = device
    const tokenWith = async (claims: Readonly<Record<string, unknown>>): Promise<string> =>
      (await tokens.issue({ sub: '7', deviceId, ...claims })).token
    const token = await tokenWith({})
    clock.advance(1_000)
    const headersOf = async (sending: Sending = {}): Promise<Record<string, string>> => {
      const { method = 'GET', path = '/api/me', body, skew = 0, nonce } = sending
      const signed = await createHeaders({
        method,
        url: path,
        body,
        keyId: sending.keyId ?? deviceId,
        secret: sending.secret ?? secret,
        timestamp: clock.now() + skew,
        ...(nonce === undefined ? {} : { nonce }),
      })
      const bearer = 'token' in sending ? sending.token : token
      const all = {
        ...signed,
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...sending.headers,
      }
      return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined))
    }
    const send = async (sending: Sending = {}): ReturnType<TestHost['inject']> => {
      const { method = 'GET', path = '/api/me', body } = sending
      return host.inject({ method, path, headers: await headersOf(sending), ...(body === undefined ? {} : { body }) })
    }
    await test({ host, clock, deviceId, secret, token, tokenWith, headersOf, send, service: (ref) => host.service(ref) })
  } finally {
    await host.stop()
  }
}

/** The number of responses by status. */
export function countsOf(responses: readonly { readonly status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
