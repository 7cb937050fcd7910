import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { definePlugin, type Plugin } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { jwt } from 'zin/plugins/jwt'
import { login } from 'zin/plugins/login'
import { createTestHost, type TestHost } from 'zin/testing'
import { env, type Session, signed } from '../../../scripts/testing/login-session.js'
import { sessions } from '../index.js'
import { Browser, sessionRoutes } from './app.js'

export interface LoginEndsBackend {
  readonly plugins: () => readonly Plugin[]
  readonly env?: Readonly<Record<string, string>>
}

type Login = Session & { readonly refreshToken: string }

const guarded = definePlugin({
  name: 'guarded',
  version: '1.0.0',
  setup: ({ route }) =>
    route({ method: 'GET', path: '/who', summary: 'Who', use: ['auth'], handler: ({ request }) => ({ sub: request.user.sub }) }),
})

const limits = { attemptsPerMinute: 10_000, attemptsPerHour: 10_000, addressAttemptsPerMinute: 10_000, addressAttemptsPerHour: 10_000 }

/** Whatever ends one login ends the session that it signed in, and no other; with every store. */
export function describeLoginEnds(name: string, backend: () => LoginEndsBackend): void {
  describe(`the session of a login on ${name}`, () => {
    let host: TestHost
    const gone = new Set<unknown>()
    before(async () => {
      const { plugins, env: own = {} } = backend()
      host = await createTestHost({
        env: { ...env, ...own },
        plugins: [
          ...plugins(),
          jwt(),
          bulletproof({ maxDevicesPerUser: 3 }),
          sessions(),
          login({
            verifyCredentials: async (email) => ({ id: email, email, role: 'user' }),
            findUser: async (id) => (gone.has(id) ? undefined : { id, email: String(id), role: 'user' }),
            accountAttemptsPerMinute: 10_000,
            ...limits,
          }),
          sessionRoutes(),
          guarded(),
        ],
      })
    })
    after(() => host.stop())

    const logIn = async (browser: Browser, email: string): Promise<Login> => {
      const { status, body } = await browser.send('POST', '/auth/login', { body: { email, password: 'p'.repeat(12) } })
      assert.equal(status, 200, JSON.stringify(body))
      return body
    }
    const refresh = (refreshToken: string) => host.inject({ method: 'POST', path: '/auth/refresh', body: { refreshToken } })
    const statusOf = async (browser: Browser): Promise<number> => (await browser.get('/who')).status
    const reuse = async ({ refreshToken }: Login): Promise<void> => {
      assert.equal((await refresh(refreshToken)).status, 200)
      assert.equal((await refresh(refreshToken)).status, 401)
    }

    const ends: Readonly<Record<string, (login: Login, other: Login, email: string) => Promise<unknown>>> = {
      'a reused refresh token': (login) => reuse(login),
      '/auth/logout without the cookie': (login) => signed(host, login, 'POST', '/auth/logout'),
      'the removal of its device by another one': (login, other) => signed(host, other, 'DELETE', `/auth/devices/${login.deviceId}`),
      'the removal of its device by a plugin': (login) => host.service(devicesService).remove(login.deviceId),
      'a login with more devices than a user may have': async (_login, other, email) => {
        for (let i = 0; i < 2; i++) await logIn(new Browser(host), email)
        assert.equal((await signed(host, other, 'GET', '/api/me')).status, 200)
      },
    }
    for (const [end, act] of Object.entries(ends))
      it(`ends with ${end}, and no other`, async () => {
        const email = `${end.replaceAll(/\W+/g, '-')}@example.com`
        const [lost, kept] = [new Browser(host), new Browser(host)]
        const login = await logIn(lost, email)
        const other = await logIn(kept, email)
        assert.deepEqual([await statusOf(lost), await statusOf(kept)], [200, 200])
        await act(login, other, email)
        assert.deepEqual([await statusOf(lost), await statusOf(kept)], [401, 200])
        assert.equal((await lost.get('/read')).body.user, null)
      })

    it('ends under the id that it got since', async () => {
      const browser = new Browser(host)
      const login = await logIn(browser, 'rotated@example.com')
      await browser.send('POST', '/regenerate')
      assert.equal(await statusOf(browser), 200)
      await reuse(login)
      assert.equal(await statusOf(browser), 401)
    })

    it('ends, with all others of the user, when a refresh finds that the user is gone', async () => {
      const [one, two, stranger] = [new Browser(host), new Browser(host), new Browser(host)]
      const { refreshToken } = await logIn(one, 'gone@example.com')
      const { jwt } = await logIn(two, 'gone@example.com')
      await logIn(stranger, 'stays@example.com')
      gone.add('gone@example.com')
      assert.equal((await refresh(refreshToken)).status, 401)
      assert.deepEqual([await statusOf(one), await statusOf(two), await statusOf(stranger)], [401, 401, 200])
      assert.equal((await host.inject({ path: '/who', headers: { authorization: `Bearer ${jwt}` } })).status, 401)
    })

    it('goes on with what ends nothing: an unknown or malformed refresh token, or an old one of an earlier login', async () => {
      const browser = new Browser(host)
      const first = await logIn(browser, 'again@example.com')
      const { deviceId } = first
      const { body } = await browser.send('POST', '/auth/login', {
        body: { email: 'again@example.com', password: 'p'.repeat(12), deviceId },
      })
      assert.equal(body.deviceId, deviceId)
      for (const token of [first.refreshToken, `${first.refreshToken.slice(0, -43)}${'A'.repeat(43)}`, 'x'])
        assert.equal((await refresh(token)).status, 401)
      assert.equal(await statusOf(browser), 200)
    })
  })
}
