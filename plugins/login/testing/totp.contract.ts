import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { ManagementAction, Plugin } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { databaseService } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { createTestHost, fakeClock, type TestHost } from 'zin/testing'
import { env, post, run, type Session, signedWith } from '../../../scripts/testing/login-session.js'
import { login } from '../index.js'

export interface TotpBackend {
  readonly plugins: () => readonly Plugin[]
  readonly env?: Readonly<Record<string, string>>
}

const minute = 60_000
const unlimited = {
  attemptsPerMinute: 10_000,
  attemptsPerHour: 10_000,
  addressAttemptsPerMinute: 10_000,
  addressAttemptsPerHour: 10_000,
  accountAttemptsPerMinute: 10_000,
}

/** Second factors, with every database. */
export function describeTotp(name: string, backend: () => TotpBackend): void {
  describe(`the second factor in ${name}`, () => {
    let host: TestHost
    let email: string
    const clock = fakeClock(Date.now() + 5_000)
    before(async () => {
      const { plugins, env: own = {} } = backend()
      host = await createTestHost({
        env: { ...env, ...own },
        plugins: [
          ...plugins(),
          jwt(),
          bulletproof(),
          login({ totp: true, totpIssuer: 'shop', verifyCredentials: async (email) => ({ id: email, email }), ...unlimited }),
        ],
        clock,
      })
    })
    after(() => host.stop())
    beforeEach(() => {
      email = `${randomUUID()}@example.com`
      clock.advance(minute)
    })

    const logIn = async (code?: string) => post(host, { email, password: 'p'.repeat(12), ...(code !== undefined && { code }) })
    const session = async (code?: string): Promise<Session> => {
      const { status, body } = await logIn(code)
      assert.equal(status, 200, JSON.stringify(body))
      return body
    }
    const refusal = async (code?: string): Promise<string> => {
      const { status, body } = await logIn(code)
      return `${status} ${body.code}`
    }
    const send = (as: Session, path: string, body?: object, method = 'POST') =>
      signedWith(host, as, { method, path: `/auth/totp${path}`, now: clock.now(), ...(body && { body }) })
    const codeOf = (secret: string, aheadMs = 0): string =>
      new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now() + aheadMs })
    /** A user with a second factor. */
    const enabled = async () => {
      const as = await session()
      const { secret } = (await send(as, '')).body
      const { status, body } = await send(as, '/confirm', { code: codeOf(secret) })
      assert.equal(status, 200, JSON.stringify(body))
      clock.advance(minute)
      return { as, secret: secret as string, recoveryCodes: body.recoveryCodes as string[] }
    }

    it('is enrolled by a secret that an authenticator app reads, and takes effect once confirmed', async () => {
      const as = await session()
      const { body, headers } = await send(as, '')
      assert.match(body.uri, /^otpauth:\/\/totp\/shop:.*secret=/)
      assert.ok(body.uri.includes(body.secret) && headers['cache-control'] === 'no-store')
      await session()
      assert.deepEqual((await send(as, '', undefined, 'GET')).body, { enabled: false, recoveryCodes: 0 })
      assert.equal((await send(as, '/confirm', { code: '000000' })).body.code, 'TOTP_INVALID')
      const confirmed = await send(as, '/confirm', { code: codeOf(body.secret) })
      assert.deepEqual([confirmed.status, new Set(confirmed.body.recoveryCodes).size], [200, 10])
      assert.deepEqual((await send(as, '', undefined, 'GET')).body, { enabled: true, recoveryCodes: 10 })
      assert.equal(await refusal(), '401 TOTP_REQUIRED')
      for (const path of ['', '/confirm']) assert.equal((await send(as, path, { code: codeOf(body.secret) })).body.code, 'TOTP_ENABLED')
      const actions = host.recorded('onManagementAction').map(([action]) => (action as ManagementAction).action)
      assert.ok(actions.includes('totp.enrol') && actions.includes('totp.confirm'))
    })

    it('logs in with a code, of 30 s before to 30 s after, and with each code once', async () => {
      const { secret } = await enabled()
      const code = codeOf(secret)
      await session(code)
      assert.equal(await refusal(code), '401 TOTP_INVALID')
      assert.equal(await refusal(codeOf(secret, -30_000)), '401 TOTP_INVALID')
      await session(codeOf(secret, 30_000))
      clock.advance(5 * minute)
      for (const ahead of [-60_000, 60_000]) assert.equal(await refusal(codeOf(secret, ahead)), '401 TOTP_INVALID')
      await session(codeOf(secret, -30_000))
      for (const text of ['', ' ', '12345', '1234567', 'abcdef']) assert.notEqual((await logIn(text)).status, 200)
    })

    it('accepts a code in one of several concurrent logins', async () => {
      const { secret } = await enabled()
      const code = codeOf(secret)
      const answers = await Promise.all(Array.from({ length: 6 }, () => logIn(code)))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401, 401, 401])
    })

    it('logs in with each recovery code once, however it is spelled, and replaces them', async () => {
      const { as, secret, recoveryCodes } = await enabled()
      const [one = '', two = '', three = ''] = recoveryCodes
      await session(one)
      assert.equal(await refusal(one), '401 TOTP_INVALID')
      await session(two.toUpperCase().replaceAll('-', ' '))
      assert.deepEqual((await send(as, '', undefined, 'GET')).body, { enabled: true, recoveryCodes: 8 })
      const renewed = await send(as, '/recovery-codes', { code: codeOf(secret) })
      assert.equal(renewed.body.recoveryCodes.length, 10)
      assert.equal(await refusal(three), '401 TOTP_INVALID')
      await session(renewed.body.recoveryCodes[0])
    })

    it('refuses further codes after ten wrong ones for 15 minutes, also a correct one', async () => {
      const { secret } = await enabled()
      for (let turn = 0; turn < 10; turn += 1) assert.equal(await refusal('000000'), '401 TOTP_INVALID')
      assert.equal(await refusal(codeOf(secret)), '429 RATE_LIMITED')
    })

    it('is removed with a code, or by the command, and belongs to one user', async () => {
      const { as, secret } = await enabled()
      const other = email.replace('@', '+other@')
      assert.equal((await post(host, { email: other, password: 'x' })).status, 200)
      assert.equal((await send(as, '/disable', { code: '000000' })).body.code, 'TOTP_INVALID')
      assert.equal((await send(as, '/disable', { code: codeOf(secret) })).status, 200)
      await session()
      assert.equal((await send(as, '/disable', { code: codeOf(secret) })).body.code, 'TOTP_NOT_ENROLLED')
      await enabled()
      assert.deepEqual((await run(host, 'user:totp-reset', { user: email })).record, { id: email, removed: true })
      await session()
      assert.deepEqual((await run(host, 'user:totp-reset', { user: email })).record, { id: email, removed: false })
    })

    it('is stored encrypted, and its recovery codes as hashes', async () => {
      const { secret, recoveryCodes } = await enabled()
      const tables = host.service(databaseService).tables()
      const rows = JSON.stringify([
        await tables.selectFrom('zin_totp').selectAll().execute(),
        await tables.selectFrom('zin_recovery_codes').selectAll().execute(),
      ])
      assert.ok(rows.includes(email))
      for (const text of [secret, ...recoveryCodes, ...recoveryCodes.map((code) => code.replaceAll('-', ''))])
        assert.ok(!rows.includes(text))
      assert.ok(!host.logText().includes(secret))
    })
  })
}
