import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import type { HttpMethod } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt } from 'zin/plugins/jwt'
import { login } from 'zin/plugins/login'
import { createTestHost, type TestHost } from 'zin/testing'
import type { AppUnderTest } from './signer-client.js'

/** A listening app with a login, a signed route for every method and path, and a page for browsers. */
export interface SignerApp extends AppUnderTest {
  readonly host: TestHost
}

const methods: readonly HttpMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const email = 'ada@example.com'
const password = 'correct horse battery staple'
const page = '<!doctype html><html lang="en"><title>Page</title><base href="/base/">'

export async function startSignerApp(): Promise<SignerApp> {
  // The clock is two seconds behind during the start: rfc9421 signs whole seconds, so requests from the second of the start are refused.
  let lateBy = 2_000
  const host = await createTestHost({
    clock: { now: () => Date.now() - lateBy, monotonic: () => performance.now() },
    listen: true,
    env: { APP_KEY: 'app-key-canary-0123456789abcdefghijk' },
    plugins: [
      jwt(),
      bulletproof(),
      login({
        bindTimezone: true,
        attemptsPerMinute: 1000,
        attemptsPerHour: 1000,
        addressAttemptsPerMinute: 1000,
        addressAttemptsPerHour: 1000,
        verifyCredentials: async (given, secret) => (given === email && secret === password ? { id: '7', email } : undefined),
      }),
    ],
    routes: [
      {
        method: 'GET',
        path: '/page',
        summary: 'A page of the same origin',
        handler: (ctx) => {
          ctx.type = 'html'
          ctx.body = page
        },
      },
      ...methods.flatMap((method) =>
        ['/echo', '/echo/:name', '/echo/:a/:b', '/base/echo', '/api/notes'].map((path) => ({
          method,
          path,
          summary: 'What arrived',
          use: ['auth', 'bulletproof'],
          bodyType: method === 'GET' ? ('none' as const) : ('raw' as const),
          handler: echo,
        })),
      ),
    ],
  })
  lateBy = 0
  return { host, url: host.url, email, password }
}

function echo(ctx: Context & { readonly input: { readonly body: unknown } }): unknown {
  const bytes = Buffer.isBuffer(ctx.input.body) ? ctx.input.body : Buffer.alloc(0)
  return {
    sub: ctx.state.user.sub,
    target: ctx.req.url,
    contentType: ctx.get('content-type') || null,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
}

/** The response of the login. */
export async function loggedIn({ url, email, password }: AppUnderTest): Promise<Record<'jwt' | 'deviceId' | 'deviceSecret', string>> {
  const response = await fetch(`${url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  return (await response.json()) as Awaited<ReturnType<typeof loggedIn>>
}
