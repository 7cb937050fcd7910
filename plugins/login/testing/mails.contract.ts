import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { definePlugin, type ManagementAction, type Plugin } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { databaseService } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { createTestHost, fakeClock, type TestHost } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import { addUser, env, post, run } from '../../../scripts/testing/login-session.js'
import { type AccountMail, login, loginUsersService } from '../index.js'

export interface MailBackend {
  readonly plugins: () => readonly Plugin[]
  readonly env?: Readonly<Record<string, string>>
}

const hour = 3_600_000

/** Password resets and email verification, with every database. */
export function describeMails(name: string, backend: () => MailBackend): void {
  describe(`mails to users with ${name}`, () => {
    let host: TestHost
    let email: string
    let password: string
    let address: string
    let number = 0
    const mails: (AccountMail & { readonly kind: string })[] = []
    const clock = fakeClock(Date.now() + 5_000)
    const mailer = definePlugin({
      name: 'mailer',
      version: '1.0.0',
      setup: ({ hooks }) => {
        hooks.on('sendPasswordReset', (mail) => {
          if (mail.user.email.startsWith('broken')) throw new Error('the mail server is down')
          mails.push({ kind: 'reset', ...mail })
        })
        hooks.on('sendEmailVerification', (mail) => void mails.push({ kind: 'verify', ...mail }))
      },
    })
    before(async () => {
      const { plugins, env: own = {} } = backend()
      host = await createTestHost({
        env: { ...env, ...own },
        plugins: [...plugins(), jwt(), bulletproof(), login({ passwordReset: true, emailVerification: 'required' }), mailer()],
        clock,
      })
    })
    after(() => host.stop())
    beforeEach(async () => {
      mails.length = 0
      number += 1
      address = `10.0.0.${number}`
      email = `${randomUUID()}@example.com`
      password = (await addUser(host, email)).password
    })

    const send = (path: string, body: object, from = address) =>
      host.inject({ method: 'POST', path: `/auth${path}`, body, remoteAddress: from })
    const mailed = async (kind: string, to = email): Promise<string> => {
      const find = () => mails.findLast((mail) => mail.kind === kind && mail.user.email === to)
      await eventually(`a ${kind} mail to ${to}`, async () => find() !== undefined)
      return find()?.token ?? ''
    }
    const logIn = async (given = password) => post(host, { email, password: given }, {}, address)
    const verified = async () => {
      await send('/email/request', { email })
      assert.equal((await send('/email/verify', { token: await mailed('verify') })).status, 200)
    }

    it('reset a password once, end the sessions, and prove the email', async () => {
      await verified()
      const { body: session } = await logIn()
      await send('/password/forgot', { email: email.toUpperCase() })
      const token = await mailed('reset')
      assert.equal((await send('/password/reset', { token, password: 'short' })).status, 400)
      const reset = await send('/password/reset', { token, password: 'a-new-password' })
      assert.deepEqual([reset.status, reset.headers['cache-control']], [200, 'no-store'])
      assert.equal((await logIn()).status, 401)
      assert.equal((await logIn('a-new-password')).status, 200)
      assert.equal((await send('/refresh', { refreshToken: session.refreshToken })).status, 401)
      assert.equal((await send('/password/reset', { token, password: 'another-password' })).body.code, 'ONE_TIME_TOKEN_INVALID')
      const actions = host.recorded('onManagementAction').map(([action]) => (action as ManagementAction).action)
      assert.ok(actions.includes('password.reset') && actions.includes('email.verify'))
    })

    it('are sent to a user whom the app adds', async () => {
      const users = host.service(loginUsersService)
      const to = `${randomUUID()}@Example.com`
      const user = await users.add({ email: to, password: 'a-good-password' })
      assert.deepEqual([user.email, user.role], [to.toLowerCase(), 'user'])
      const answer = await send('/email/verify', { token: await mailed('verify', user.email) })
      assert.equal(answer.status, 200)
      assert.equal((await post(host, { email: to, password: 'a-good-password' }, {}, address)).status, 200)
      await assert.rejects(users.add({ email: to, password: 'a-good-password' }), { code: 'USER_EXISTS' })
      await assert.rejects(users.add({ email: 'x@y.z', password: 'short' }), { code: 'USER_INVALID' })
    })

    it('are accepted in one of several concurrent requests', async () => {
      await send('/password/forgot', { email })
      const token = await mailed('reset')
      const all = Array.from({ length: 6 }, (_, index) => send('/password/reset', { token, password: `new-password-${index}` }))
      assert.deepEqual((await Promise.all(all)).map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400])
    })

    it('respond alike for unknown, disabled and known users, and send nothing to the former', async () => {
      const gone = `${randomUUID()}@example.com`
      await addUser(host, gone)
      await run(host, 'user:disable', { email: gone })
      const answers: string[] = []
      for (const to of ['no@example.com', gone, email, 'broken', 'x'.repeat(320)]) {
        const { status, text, headers } = await send('/password/forgot', { email: to })
        answers.push(JSON.stringify([status, text, Object.keys(headers).sort()]))
      }
      assert.equal(new Set(answers).size, 1, answers.join('\n'))
      await mailed('reset')
      assert.deepEqual(
        mails.map(({ user }) => user.email),
        [email],
      )
    })

    it('expire, end with a newer password, and are valid for their purpose only', async () => {
      await send('/password/forgot', { email })
      await send('/email/request', { email })
      const [reset, verify] = [await mailed('reset'), await mailed('verify')]
      for (const [path, body] of [
        ['/password/reset', { token: verify, password: 'a-new-password' }],
        ['/email/verify', { token: reset }],
        ['/email/verify', { token: `${verify}x` }],
      ] as const)
        assert.deepEqual([(await send(path, body)).status, mails.length], [400, 2])
      await run(host, 'user:password', { email }, { generate: true, 'password-stdin': false })
      assert.equal((await send('/password/reset', { token: reset, password: 'a-new-password' })).status, 400)
      clock.advance(1)
      await send('/password/forgot', { email })
      await eventually('a second mail', async () => mails.filter(({ kind }) => kind === 'reset').length === 2)
      clock.advance(hour)
      assert.equal((await send('/password/reset', { token: await mailed('reset'), password: 'a-new-password' })).status, 400)
    })

    it('are limited per email and per address, also for unknown emails', async () => {
      const unknown = `${randomUUID()}@example.com`
      for (const to of [email, unknown]) {
        for (let turn = 0; turn < 3; turn += 1)
          assert.equal((await send('/password/forgot', { email: to }, `10.1.${number}.${turn}`)).status, 200)
        const { status, body, headers } = await send('/password/forgot', { email: to }, `10.1.${number}.9`)
        assert.deepEqual([status, body.code, Number(headers['retry-after']) > 0], [429, 'RATE_LIMITED', true])
      }
      const from = `10.2.${number}.1`
      const statuses = new Set<number>()
      for (let turn = 0; turn < 30; turn += 1) statuses.add((await send('/password/forgot', { email: `${turn}@x.y` }, from)).status)
      assert.deepEqual([...statuses], [200])
      assert.equal((await send('/password/forgot', { email: '31@x.y' }, from)).status, 429)
    })

    it('must prove an email before a login, if it is required, without telling who has a wrong password', async () => {
      const refused = await logIn()
      assert.deepEqual([refused.status, refused.body.code], [403, 'EMAIL_NOT_VERIFIED'])
      assert.equal((await logIn('a-wrong-password')).body.code, 'INVALID_CREDENTIALS')
      await verified()
      assert.equal((await logIn()).status, 200)
      mails.length = 0
      assert.equal((await send('/email/request', { email })).status, 200)
      await send('/password/forgot', { email })
      await mailed('reset')
      assert.deepEqual(
        mails.map(({ kind }) => kind),
        ['reset'],
      )
    })

    it('that fail are logged without their token, and tokens are stored as hashes', async () => {
      const broken = `broken-${randomUUID()}@example.com`
      await addUser(host, broken)
      assert.equal((await send('/password/forgot', { email: broken })).status, 200)
      await eventually('the log', async () => host.logText().includes('the mail server is down'))
      await send('/password/forgot', { email })
      const token = await mailed('reset')
      const rows = JSON.stringify(await host.service(databaseService).tables().selectFrom('zin_one_time_tokens').selectAll().execute())
      assert.ok(rows.includes(email) && !rows.includes(token) && !host.logText().includes(token))
    })
  })
}
