import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Plugin } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt } from 'zin/plugins/jwt'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { env, post, type Session, signed } from '../../../scripts/testing/login-session.js'
import { login } from '../index.js'

export interface SessionBackend {
  readonly plugins: () => readonly Plugin[]
  readonly stores: 'memory' | 'kv' | 'db' | 'auto'
  readonly env?: Readonly<Record<string, string>>
}

const unlimited = {
  attemptsPerMinute: 10_000,
  attemptsPerHour: 10_000,
  addressAttemptsPerMinute: 10_000,
  addressAttemptsPerHour: 10_000,
  accountAttemptsPerMinute: 10_000,
}

/** The behavior of sessions that end while they are in use, with every store. */
export function describeSessions(name: string, backend: () => SessionBackend): void {
  /** Uses a session 200 times around `end`: requests sent after its response must be refused, and no other error may occur. */
  const useAround = async (host: TestHost, session: Session, end: () => Promise<{ readonly status: number }>): Promise<void> => {
    let ended = false
    const uses: Promise<readonly [boolean, number]>[] = []
    let ending: Promise<unknown> | undefined
    for (let use = 0; use < 200; use += 1) {
      if (use === 60)
        ending = end().then(({ status }) => {
          assert.equal(status, 200)
          ended = true
        })
      if (use === 150) await ending
      const late = ended
      uses.push(signed(host, session, 'GET', '/api/me').then(({ status }) => [late, status] as const))
      await turn()
    }
    const results = await Promise.all(uses)
    for (const [late, status] of results) assert.ok(status === 401 || (!late && status === 200), `${late ? 'late' : 'early'} ${status}`)
    assert.ok(results.some(([late]) => late))
    assert.ok(results.some(([, status]) => status === 200))
  }

  describe(`S24: sessions with ${name}`, () => {
    let host: TestHost
    let user: string
    const logIn = async (deviceId?: string): Promise<Session> => {
      const { status, body } = await post(host, { email: user, password: 'p'.repeat(12), ...(deviceId && { deviceId }) })
      assert.equal(status, 200, JSON.stringify(body))
      return body
    }
    before(async () => {
      const { plugins, stores, env: own = {} } = backend()
      host = await createTestHost({
        env: { ...env, ...own },
        plugins: [
          ...plugins(),
          jwt(),
          bulletproof({ deviceStore: stores, nonceStore: stores }),
          login({ verifyCredentials: async (email) => ({ id: email, email, role: 'user' }), ...unlimited }),
        ],
      })
      user = 'ada@example.com'
      const first = await logIn()
      // A store accepts only requests made after its creation.
      await eventually('a request is accepted', async () => (await signed(host, first, 'GET', '/api/me')).status === 200)
    })
    after(() => host.stop())
    beforeEach(() => {
      user = `${randomUUID()}@example.com`
    })

    it('refuse requests after the logout response, out of 200 around it, and a second logout', async () => {
      const session = await logIn()
      await useAround(host, session, () => signed(host, session, 'POST', '/auth/logout'))
      assert.equal((await signed(host, session, 'POST', '/auth/logout')).status, 401)
    })

    it('end for a device that another device removes, also while it is used', async () => {
      const [lost, kept] = [await logIn(), await logIn()]
      await useAround(host, lost, () => signed(host, kept, 'DELETE', `/auth/devices/${lost.deviceId}`))
      assert.equal((await signed(host, kept, 'GET', '/api/me')).status, 200)
    })

    it('end everywhere with logout-all, also while they are used', async () => {
      const [here, there] = [await logIn(), await logIn()]
      await useAround(host, there, () => signed(host, here, 'POST', '/auth/logout-all'))
      for (const session of [here, there]) assert.equal((await signed(host, session, 'GET', '/api/me')).status, 401)
      assert.equal((await signed(host, await logIn(), 'GET', '/api/me')).status, 200)
    })

    it('can be ended by several concurrent logouts', async () => {
      const session = await logIn()
      const ends = await Promise.all(Array.from({ length: 8 }, () => signed(host, session, 'POST', '/auth/logout')))
      const statuses = ends.map(({ status }) => status)
      assert.ok(statuses.includes(200))
      assert.ok(
        statuses.every((status) => status === 200 || status === 401),
        statuses.join(' '),
      )
      assert.equal((await signed(host, session, 'GET', '/api/me')).status, 401)
    })

    it('of one device with many concurrent logins leave exactly one valid secret', async () => {
      const { deviceId } = await logIn()
      const sessions = await Promise.all(Array.from({ length: 8 }, () => logIn(deviceId)))
      assert.deepEqual(new Set(sessions.map((session) => session.deviceId)), new Set([deviceId]))
      const answers = await Promise.all(sessions.map((session) => signed(host, session, 'GET', '/api/me')))
      assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    })
  })
}
