import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database, databaseService } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { addUser, env, loginHost, post, run, signed } from '../../scripts/testing/login-session.js'
import { login } from './index.js'
import { describeRefresh } from './testing/refresh.contract.js'

describeRefresh('a table', () => ({ plugins: () => [database(), kv()] }))
describeRefresh('a table, without kv', () => ({ plugins: () => [database()] }))
describeRefresh('the process', () => ({ plugins: () => [] }))

describe('refresh tokens of built-in users', () => {
  it('end with user:disable, user:password and user:role, and are stored as hashes', async () => {
    const host = await loginHost()
    try {
      const refresh = (refreshToken: string) => host.inject({ method: 'POST', path: '/auth/refresh', body: { refreshToken } })
      for (const [command, options] of [
        ['user:disable', {}],
        ['user:password', { generate: true, 'password-stdin': false }],
        ['user:logout', {}],
      ] as const) {
        const email = `${command.replace(':', '-')}@example.com`
        const { password } = await addUser(host, email)
        const { body } = await post(host, { email, password })
        const { rows } = await host
          .service(databaseService)
          .batch([host.service(databaseService).tables().selectFrom('zin_refresh_tokens').selectAll()])
          .then(([result]) => result ?? { rows: [] })
        assert.equal(rows.length, 1)
        assert.ok(!JSON.stringify(rows).includes(body.refreshToken.split('~')[2]))
        await run(host, command, { email }, options)
        assert.equal((await refresh(body.refreshToken)).status, 401)
      }
    } finally {
      await host.stop()
    }
  })

  it('give a changed role at once, because user:role ends the sessions', async () => {
    const host = await loginHost()
    try {
      const { password } = await addUser(host, 'ada@example.com')
      const { body: session } = await post(host, { email: 'ada@example.com', password })
      const { record } = await run(host, 'user:role', { email: 'ada@example.com', role: 'admin' })
      assert.deepEqual([record.role, record.devicesRemoved], ['admin', 1])
      assert.equal((await signed(host, session, 'GET', '/api/me')).status, 401)
      const { body: next } = await post(host, { email: 'ada@example.com', password })
      assert.equal((await signed(host, next, 'GET', '/api/me')).body.role, 'admin')
      await assert.rejects(run(host, 'user:role', { email: 'ada@example.com', role: '' }), { code: 'USER_INVALID' })
    } finally {
      await host.stop()
    }
  })

  it('can be switched off, and can require a signature', async () => {
    const users = { verifyCredentials: async () => ({ id: 7, email: 'a@b.c' }) }
    const off = await createTestHost({ plugins: [jwt(), bulletproof(), login({ ...users, refreshTokens: false })], env })
    const strict = await createTestHost({ plugins: [jwt(), bulletproof(), login({ ...users, refreshSigned: true })], env })
    try {
      const { body } = await post(off, { email: 'a@b.c', password: 'x' })
      assert.deepEqual(Object.keys(body), ['jwt', 'deviceId', 'deviceSecret'])
      assert.equal((await off.inject({ method: 'POST', path: '/auth/refresh', body: { refreshToken: 'x' } })).status, 404)
      const { body: session } = await post(strict, { email: 'a@b.c', password: 'x' })
      const unsigned = await strict.inject({ method: 'POST', path: '/auth/refresh', body: { refreshToken: session.refreshToken } })
      assert.deepEqual([unsigned.status, unsigned.body.code], [401, 'REFRESH_TOKEN_INVALID'])
    } finally {
      await off.stop()
      await strict.stop()
    }
  })
})
