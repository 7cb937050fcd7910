import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { definePlugin, defineRoute, type ManagementAction, type Plugin } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { createHeaders } from 'zin/signer'
import { createTestHost, fakeClock, type TestHost } from 'zin/testing'
import { env, post, type Session } from '../../../scripts/testing/login-session.js'
import { login } from '../index.js'
import type { LoginOptions } from '../options.js'

export interface RefreshBackend {
  readonly plugins: () => readonly Plugin[]
  readonly env?: Readonly<Record<string, string>>
}

type Signed = Session & { readonly refreshToken: string }

const minute = 60_000
const day = 86_400_000
const unlimited = { attemptsPerMinute: 10_000, attemptsPerHour: 10_000, addressAttemptsPerMinute: 10_000, addressAttemptsPerHour: 10_000 }
const who = defineRoute({ method: 'GET', path: '/who', summary: 'Who', use: ['auth'], handler: ({ request }) => request.user })

/** Refresh tokens, with every store. */
export function describeRefresh(name: string, backend: () => RefreshBackend): void {
  describe(`refresh tokens in ${name}`, () => {
    let host: TestHost
    let email: string
    /** Runs when a reuse was noticed, before anything is ended. */
    let between: (() => Promise<void>) | undefined
    const users = new Map<string, { readonly id: string; readonly email: string; readonly role: string }>()
    const clock = fakeClock(Date.now() + 5_000)
    const start = (options: Partial<LoginOptions> = {}): Promise<TestHost> => {
      const { plugins, env: own = {} } = backend()
      return createTestHost({
        env: { ...env, ...own },
        plugins: [
          ...plugins(),
          jwt({ expiresInSeconds: 600 }),
          bulletproof(),
          login({
            verifyCredentials: async (email) => users.get(email),
            findUser: async (id) => [...users.values()].find((user) => user.id === id),
            ...unlimited,
            ...options,
          }),
          definePlugin({
            name: 'between',
            version: '1.0.0',
            setup: ({ hooks }) =>
              void hooks.on('beforeManagementAction', async ({ action }) => {
                if (action === 'refresh-token.reuse') await between?.()
                return undefined
              }),
          })(),
        ],
        routes: [who],
        clock,
      })
    }
    const logIn = async (deviceId?: string): Promise<Signed> => {
      const { status, body } = await post(host, { email, password: 'p'.repeat(12), ...(deviceId && { deviceId }) })
      assert.equal(status, 200, JSON.stringify(body))
      return body
    }
    const refresh = (refreshToken: unknown, headers = {}) =>
      host.inject({ method: 'POST', path: '/auth/refresh', body: { refreshToken }, headers })
    const renewed = async (refreshToken: string): Promise<{ readonly jwt: string; readonly refreshToken: string }> => {
      const { status, body, headers } = await refresh(refreshToken)
      assert.deepEqual([status, Object.keys(body).sort(), headers['cache-control']], [200, ['jwt', 'refreshToken'], 'no-store'])
      return body
    }
    const assertRefused = async (refreshToken: unknown, headers = {}): Promise<void> => {
      const { status, body, headers: answer } = await refresh(refreshToken, headers)
      assert.deepEqual([status, body.code, answer['www-authenticate']], [401, 'REFRESH_TOKEN_INVALID', 'Bearer'])
    }
    const signed = async (session: Session, method: string, path: string) => {
      const { deviceId: keyId, deviceSecret: secret } = session
      const own = await createHeaders({ method, url: path, keyId, secret, timestamp: clock.now() })
      return host.inject({ method, path, headers: { ...own, authorization: `Bearer ${session.jwt}` } })
    }
    const access = async (jwt: string): Promise<number> =>
      (await host.inject({ path: '/who', headers: { authorization: `Bearer ${jwt}` } })).status

    before(async () => {
      host = await start()
    })
    after(() => host.stop())
    beforeEach(() => {
      email = `${randomUUID()}@example.com`
      users.set(email, { id: randomUUID(), email, role: 'user' })
    })

    it('give a new pair, whose token works for the same device, again and again', async () => {
      const session = await logIn()
      let { refreshToken } = session
      for (let turn = 0; turn < 3; turn += 1) {
        clock.advance(9 * minute)
        const next = await renewed(refreshToken)
        assert.notEqual(next.refreshToken, refreshToken)
        refreshToken = next.refreshToken
        const me = await signed({ ...session, jwt: next.jwt }, 'GET', '/api/me')
        assert.deepEqual([me.status, me.body.email, me.body.deviceId], [200, email, session.deviceId])
      }
    })

    it('are valid once: a second use ends the session with all of its tokens, also the newest, and its device', async () => {
      const session = await logIn()
      const other = await logIn()
      const second = await renewed(session.refreshToken)
      const third = await renewed(second.refreshToken)
      for (const { jwt } of [session, second, third]) assert.equal(await access(jwt), 200)
      await assertRefused(session.refreshToken)
      await assertRefused(third.refreshToken)
      for (const { jwt } of [session, second, third]) assert.equal(await access(jwt), 401)
      assert.notEqual((await host.service(devicesService).get(session.deviceId))?.removedAt, undefined)
      await renewed(other.refreshToken)
      const actions = host.recorded('onManagementAction').map(([action]) => action as ManagementAction)
      const target = `user:${users.get(email)?.id}`
      assert.ok(actions.some((action) => action.action === 'refresh-token.reuse' && action.target === target))
    })

    it('let exactly one of several concurrent uses pass, and then end', async () => {
      const { refreshToken } = await logIn()
      const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(refreshToken)))
      const passed = answers.filter(({ status }) => status === 200)
      assert.ok(passed.length <= 1, `${passed.length} passed`)
      assert.ok(answers.every(({ status }) => status === 200 || status === 401))
      for (const { body } of passed) await assertRefused(body.refreshToken)
    })

    it('end with the token of a refresh that comes between the reuse and its end', async () => {
      const session = await logIn()
      const second = await renewed(session.refreshToken)
      let third: Awaited<ReturnType<typeof renewed>> | undefined
      between = async () => {
        third = await renewed(second.refreshToken)
        assert.equal(await access(third.jwt), 200)
      }
      await assertRefused(session.refreshToken)
      between = undefined
      if (third === undefined) assert.fail('no refresh came between')
      await assertRefused(third.refreshToken)
      for (const { jwt } of [session, second, third]) assert.equal(await access(jwt), 401)
    })

    it('expire when they are not used, and at the end of the session', async () => {
      const idle = await logIn()
      const used = await logIn()
      let { refreshToken } = used
      for (let turn = 0; turn < 3; turn += 1) {
        clock.advance(29 * day)
        refreshToken = (await renewed(refreshToken)).refreshToken
        if (turn === 0) refreshToken = (await renewed(refreshToken)).refreshToken
      }
      await assertRefused(idle.refreshToken)
      clock.advance(3 * day - 1)
      refreshToken = (await renewed(refreshToken)).refreshToken
      clock.advance(1)
      await assertRefused(refreshToken)
    })

    it('end with logout, logout everywhere, a revoked user, and a removed device', async () => {
      const ends: Readonly<Record<string, (session: Signed) => Promise<unknown>>> = {
        logout: (session) => signed(session, 'POST', '/auth/logout'),
        everywhere: (session) => signed(session, 'POST', '/auth/logout-all'),
        user: () => host.service(tokensService).revokeUser(users.get(email)?.id ?? ''),
        device: (session) => host.service(devicesService).remove(session.deviceId),
      }
      for (const end of Object.values(ends)) {
        const session = await logIn()
        await end(session)
        await assertRefused(session.refreshToken)
        clock.advance(1)
      }
    })

    it('of an earlier login on the device end without ending the later login', async () => {
      const first = await logIn()
      const later = await logIn(first.deviceId)
      assert.equal(later.deviceId, first.deviceId)
      await assertRefused(first.refreshToken)
      await renewed(later.refreshToken)
    })

    it('give the email and role that the user has now, and end for a user who is gone', async () => {
      const { refreshToken } = await logIn()
      const user = users.get(email) ?? assert.fail()
      users.set(email, { ...user, email: 'new@example.com', role: 'admin' })
      const next = await renewed(refreshToken)
      const claims = host.service(tokensService).verify(next.jwt)
      assert.deepEqual([claims.sub, claims.email, claims.role], [user.id, 'new@example.com', 'admin'])
      users.delete(email)
      await assertRefused(next.refreshToken)
      assert.equal(await access(next.jwt), 401)
      users.set(email, user)
      await assertRefused(next.refreshToken)
    })

    it('accept a signature of their device only', async () => {
      const [mine, other] = [await logIn(), await logIn()]
      const body = JSON.stringify({ refreshToken: mine.refreshToken })
      const send = async ({ deviceId: keyId, deviceSecret: secret }: Session, changed = {}) => {
        const own = await createHeaders({ method: 'POST', url: '/auth/refresh', body, keyId, secret, timestamp: clock.now() })
        const headers = { 'content-type': 'application/json', ...own, ...changed }
        return (await host.inject({ method: 'POST', path: '/auth/refresh', body, headers })).status
      }
      assert.equal(await send(other), 401)
      assert.equal(await send(mine, { 'x-sig-signature': '0'.repeat(64) }), 401)
      assert.equal(await send(mine), 200)
    })

    it('are refused alike when they are malformed, unknown or cut', async () => {
      const { refreshToken, deviceId } = await logIn()
      const [, family, secret] = refreshToken.split('~')
      const bad = ['x', '~~', `${deviceId}~${family}`, `${deviceId}~${randomUUID()}~${secret}`, `x${refreshToken}`, `${refreshToken}\n`]
      for (const token of bad) await assertRefused(token)
      for (const token of ['', 'x'.repeat(513), 1, null, {}]) assert.equal((await refresh(token)).status, 400)
      await renewed(refreshToken)
    })
  })
}
