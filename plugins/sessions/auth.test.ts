import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { tokensService } from 'zin/plugins/jwt'
import { login } from 'zin/plugins/login'
import { createTestHost, type FakeClock, fakeClock, type TestHost } from 'zin/testing'
import { addUser, companions, env, run, type Session, signed } from '../../scripts/testing/login-session.js'
import { sessions } from './index.js'
import { Browser, type Reply, sessionRoutes } from './testing/app.js'

/** Runs when a user has logged in, before the session is stored. */
let ending: (() => Promise<void>) | undefined

/** Routes behind `auth`. */
const guarded = definePlugin({
  name: 'guarded',
  version: '1.0.0',
  dependencies: ['login'],
  setup(ctx) {
    ctx.hooks.on('onLogin', async () => ending?.())
    const who = (user: { readonly sub?: string | number; readonly role?: string }) => ({ sub: user.sub, role: user.role })
    ctx.route({ method: 'GET', path: '/who', summary: 'Who', use: ['auth'], handler: ({ request }) => who(request.user) })
    ctx.route({ method: 'POST', path: '/who', summary: 'Who', use: ['auth'], handler: ({ request }) => who(request.user) })
    ctx.route({
      method: 'POST',
      path: '/who-form',
      summary: 'Who',
      use: ['auth'],
      bodyType: 'form',
      handler: ({ request }) => who(request.user),
    })
    ctx.route({ method: 'GET', path: '/proven', summary: 'Who', use: ['auth', 'bulletproof'], handler: ({ request }) => who(request.user) })
  },
})

interface Lab {
  readonly host: TestHost
  readonly clock: FakeClock
  readonly user: { readonly id: string; readonly password: string }
  /** Logs in, with the cookie that the browser has. */
  readonly logIn: (browser: Browser) => Promise<Reply & { readonly body: Session }>
}

async function withLab(test: (lab: Lab) => Promise<void>, options: Parameters<typeof sessions>[0] = {}): Promise<void> {
  // Requests are signed by the time of the machine.
  const clock = fakeClock(Date.now())
  const host = await createTestHost({
    env,
    clock,
    plugins: [
      ...companions(),
      sessions({ lifetimeMs: 3 * 86_400_000, idleMs: 3 * 86_400_000, ...options }),
      login(),
      sessionRoutes(),
      guarded(),
    ],
  })
  try {
    const user = await addUser(host, 'ada@example.com', 'admin')
    const logIn = async (browser: Browser) => {
      const reply = await browser.send('POST', '/auth/login', { body: { email: 'ada@example.com', password: user.password } })
      assert.equal(reply.status, 200, JSON.stringify(reply.body))
      return reply
    }
    await test({ host, clock, user, logIn })
  } finally {
    await host.stop()
  }
}

const statusOf = async (browser: Browser, path = '/who'): Promise<number> => (await browser.get(path)).status

describe('a login', () => {
  it('gives the session a new id and signs it in; `auth` accepts it beside tokens', () =>
    withLab(async ({ host, user, logIn }) => {
      const browser = new Browser(host)
      await browser.set({ color: 'blue' })
      const planted = browser.copy()
      const { body, setCookie } = await logIn(browser)
      assert.ok(setCookie !== undefined && browser.cookie !== planted.cookie)
      assert.deepEqual(Object.keys(body), ['jwt', 'deviceId', 'deviceSecret', 'refreshToken'])
      assert.deepEqual((await browser.get('/who')).body, { sub: user.id, role: 'admin' })
      assert.equal((await browser.get('/read')).body.color, 'blue')
      assert.equal(await statusOf(planted), 401, 'the id from before is worthless')
      const byToken = await new Browser(host).send('POST', '/who', { headers: { authorization: `Bearer ${body.jwt}` } })
      assert.equal(byToken.status, 200, 'a token needs no session and no CSRF token')
    }))

  it('keeps the data of a visitor and of the same user, and none of another user', () =>
    withLab(async ({ host, logIn }) => {
      const { password } = await addUser(host, 'bob@example.com')
      const browser = new Browser(host)
      await browser.set({ color: 'blue' })
      for (let i = 0; i < 2; i++) {
        await logIn(browser)
        assert.equal((await browser.get('/read')).body.color, 'blue')
      }
      const reply = await browser.send('POST', '/auth/login', { body: { email: 'bob@example.com', password } })
      assert.equal(reply.status, 200)
      const { user, ...data } = (await browser.get('/read')).body
      assert.ok(user !== null)
      assert.deepEqual(data, {})
    }))

  it('gives also a new browser a session, and one that fails gives none', () =>
    withLab(async ({ host, logIn }) => {
      const browser = new Browser(host)
      const wrong = await browser.send('POST', '/auth/login', { body: { email: 'ada@example.com', password: 'wrong-password' } })
      assert.deepEqual([wrong.status, wrong.setCookie], [401, undefined])
      await logIn(browser)
      assert.equal(await statusOf(browser), 200)
    }))

  it('needs the CSRF token for what changes something, also with a form', () =>
    withLab(async ({ host, logIn }) => {
      const browser = new Browser(host)
      await logIn(browser)
      const { token } = browser
      browser.token = undefined
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      const refused = await browser.send('POST', '/who')
      assert.deepEqual([refused.status, refused.body.code], [403, 'CSRF_TOKEN_INVALID'])
      assert.equal((await browser.send('POST', '/who-form', { body: 'a=1', headers: form })).status, 403)
      assert.equal((await browser.send('POST', '/who-form', { body: `_csrf=${token}`, headers: form })).status, 200)
      assert.equal((await browser.send('POST', '/who', { headers: { 'x-csrf-token': token as string } })).status, 200)
    }))

  it('does not replace a signed request', () =>
    withLab(async ({ host, logIn }) => {
      const browser = new Browser(host)
      const { body } = await logIn(browser)
      assert.equal(await statusOf(browser, '/proven'), 401)
      assert.equal((await signed(host, body, 'GET', '/proven')).status, 200)
    }))

  it('counts for nothing beside a wrong token, and not at all with `auth: false`', async () => {
    await withLab(async ({ host, logIn }) => {
      const browser = new Browser(host)
      await logIn(browser)
      assert.equal((await browser.send('GET', '/who', { headers: { authorization: 'Bearer a.b.c' } })).status, 401)
    })
    await withLab(
      async ({ host, logIn }) => {
        const browser = new Browser(host)
        await logIn(browser)
        assert.equal(await statusOf(browser), 401)
      },
      { auth: false },
    )
  })

  it('appears in OpenAPI beside the token', () =>
    withLab(async ({ host }) => {
      const { paths } = host.host.http.openapi() as { paths: Record<string, { get: { security: object } }> }
      assert.deepEqual(paths['/who']?.get.security, [{ bearer: [] }, { session: [] }])
    }))
})

describe('the end of a login', () => {
  it('is /auth/logout for the session that sends it, and no other', () =>
    withLab(async ({ host, logIn }) => {
      const [one, two] = [new Browser(host), new Browser(host)]
      const { body } = await logIn(one)
      await logIn(two)
      const reply = await signed(host, body, 'POST', '/auth/logout', { cookie: one.cookie })
      assert.deepEqual([reply.status, String(reply.headers['set-cookie']).split(';')[1]], [200, ' Max-Age=0'])
      assert.deepEqual([await statusOf(one), await statusOf(two)], [401, 200])
    }))

  const ends: Readonly<Record<string, (lab: Lab, body: Session, browser: Browser) => Promise<unknown>>> = {
    '/auth/logout-all': ({ host }, body) => signed(host, body, 'POST', '/auth/logout-all'),
    'DELETE /auth/sessions': (_lab, _body, browser) => browser.send('DELETE', '/auth/sessions'),
    'zin user:disable': ({ host }) => run(host, 'user:disable', { email: 'ada@example.com' }),
    'zin user:password': ({ host }) =>
      run(host, 'user:password', { email: 'ada@example.com' }, { generate: true, 'password-stdin': false }),
  }
  for (const [name, end] of Object.entries(ends))
    it(`is ${name} for all sessions of the user, also two days after the login`, () =>
      withLab(async (lab) => {
        const [one, two] = [new Browser(lab.host), new Browser(lab.host)]
        await lab.logIn(one)
        const { body } = await lab.logIn(two)
        await end(lab, body, one)
        lab.clock.advance(2 * 86_400_000)
        for (const browser of [one, two]) {
          assert.equal(await statusOf(browser), 401)
          assert.equal((await browser.get('/read')).body.user, null)
        }
        assert.equal((await new Browser(lab.host).send('GET', '/who', { headers: { authorization: `Bearer ${body.jwt}` } })).status, 401)
      }))

  it('that comes before the session is stored leaves none', () =>
    withLab(async ({ host, clock, user, logIn }) => {
      const browser = new Browser(host)
      ending = () => host.service(tokensService).revokeUser(user.id)
      const reply = await browser.send('POST', '/auth/login', { body: { email: 'ada@example.com', password: user.password } })
      ending = undefined
      clock.advance(5_000)
      assert.deepEqual([reply.status, reply.body.code, reply.setCookie], [409, 'SESSION_CONFLICT', undefined])
      await logIn(browser)
      assert.equal(await statusOf(browser), 200)
    }))

  it('comes with the lifetime of the session, not of the token', () =>
    withLab(async ({ host, clock, logIn }) => {
      const browser = new Browser(host)
      const { body } = await logIn(browser)
      clock.advance(86_400_000)
      assert.throws(() => host.service(tokensService).verify(body.jwt))
      assert.equal(await statusOf(browser), 200)
      clock.advance(2 * 86_400_000)
      assert.equal(await statusOf(browser), 401)
    }))
})
