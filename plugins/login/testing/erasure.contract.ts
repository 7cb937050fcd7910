import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineRoute, type Plugin } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { jwt } from 'zin/plugins/jwt'
import { ops } from 'zin/plugins/ops'
import { queues, queuesService } from 'zin/plugins/queues'
import { sessions } from 'zin/plugins/sessions'
import { createTestHost, type TestHost } from 'zin/testing'
import { env, post } from '../../../scripts/testing/login-session.js'
import { login } from '../index.js'
import { erasedBy, type FullAccount, fullAccount, mailer, tablesWith } from './full-account.js'

export interface ErasureBackend {
  readonly plugins: () => readonly Plugin[]
  readonly env?: Readonly<Record<string, string>>
}

/** The accounts of subjects, with every database. */
export function describeErasure(name: string, backend: () => ErasureBackend): void {
  describe(`the account of a subject in ${name}`, () => {
    let host: TestHost
    const mails: string[] = []
    const who = defineRoute({ method: 'GET', path: '/who', summary: 'Who', use: ['auth'], handler: ({ request }) => request.user })
    before(async () => {
      const { plugins, env: own = {} } = backend()
      host = await createTestHost({
        env: { ...env, QUEUE_FSYNC: 'off', WORKER_GDPR: 'true', WORKER_AUDIT_LOG: 'false', WORKER_ENCRYPTION: 'false', ...own },
        plugins: [
          ...plugins(),
          cluster(),
          queues(),
          ops(),
          compliance({ subjects: { orders: ['user.id'] } }),
          jwt(),
          bulletproof(),
          sessions({ auth: true, secure: false }),
          login({ refreshTokens: true, totp: true, passwordReset: true, emailVerification: 'optional' }),
          mailer(mails),
        ],
        routes: [who],
      })
    })
    after(() => host.stop())

    const account = () => fullAccount(host, mails)
    const exported = async (subject: string) => {
      const response = await host.inject({ path: `/api/compliance/subjects/${encodeURIComponent(subject)}/export` })
      assert.equal(response.status, 200, response.text)
      return { ...JSON.parse(response.text), text: response.text }
    }
    const access = async ({ cookie, session }: FullAccount): Promise<readonly number[]> => [
      (await host.inject({ path: '/who', headers: { authorization: `Bearer ${session.jwt}` } })).status,
      (await host.inject({ path: '/who', headers: { cookie } })).status,
      (
        await host.inject({
          method: 'POST',
          path: '/auth/refresh',
          body: { refreshToken: (session as { refreshToken?: string }).refreshToken },
        })
      ).status,
    ]

    it('is exported by its id and by its email address, without secrets', async () => {
      const one = await account()
      const other = await account()
      for (const subject of [one.id, one.email, one.email.toUpperCase()]) {
        const { complete, problems, records, text } = await exported(subject)
        assert.deepEqual([complete, problems], [true, []])
        const kinds = records.map(({ kind }: { kind: string }) => kind).toSorted()
        assert.deepEqual(
          kinds,
          ['account', 'device', 'mailed token', 'mailed token', 'refresh token', 'second factor', 'session'].toSorted(),
          text,
        )
        const { data } = records.find(({ kind }: { kind: string }) => kind === 'account')
        assert.deepEqual([data.email, data.role, data.disabledAt], [one.email, 'user', null])
        for (const secret of one.secrets) assert.ok(!text.includes(secret))
        assert.doesNotMatch(text, /argon2|hash/i)
        assert.ok(!text.includes(other.id) && !text.includes(other.email))
      }
      assert.deepEqual((await exported('nobody@example.com')).records, [])
    })

    it('is erased by its id or its email address, with its sessions, tokens and devices, and only it', async () => {
      const other = await account()
      for (const by of ['id', 'email'] as const) {
        const one = await account()
        assert.deepEqual(await access(one), [200, 200, 200])
        assert.equal((await tablesWith(host, one)).length, 5)
        await host.service(queuesService).add('orders', 'x', { user: { id: one[by] } }, { delay: 3_600_000 })
        const erasure = await erasedBy(host, one[by])
        // The account, a device, a second factor and two mailed tokens; sessions end with the account.
        assert.deepEqual([erasure.state, erasure.error, erasure.erased, erasure.elsewhere], ['completed', null, 1, 5], by)
        assert.deepEqual(await tablesWith(host, one), [])
        assert.deepEqual(await access(one), [401, 401, 401])
        assert.deepEqual(await host.service(devicesService).list(one.id), [])
        assert.equal((await host.service(devicesService).get(one.session.deviceId))?.label, undefined)
        assert.equal((await post(host, { email: one.email, password: one.password })).status, 401)
        assert.deepEqual((await exported(one[by])).records, [])
        assert.deepEqual([(await erasedBy(host, one.id)).elsewhere, (await erasedBy(host, one.email)).elsewhere], [0, 0])
      }
      assert.deepEqual((await access(other)).slice(0, 2), [200, 200])
      assert.equal((await tablesWith(host, other)).length, 5)
    })

    it('is deleted by zin user:delete', async () => {
      const one = await account()
      const entry = host.host.commands().find(({ command }) => command.name === 'user:delete')
      const lines: string[] = []
      const asked: string[] = []
      const print = { line: (text: string) => void lines.push(text) }
      const confirm = async (text: string) => void asked.push(text)
      await entry?.command.run({ args: { email: one.email }, options: {}, print, confirm } as never)
      assert.deepEqual([lines, asked.length], [[`${one.email} is deleted, with 4 other record(s)`], 1])
      assert.deepEqual(await tablesWith(host, one), [])
      assert.deepEqual(await access(one), [401, 401, 401])
      await assert.rejects(async () => entry?.command.run({ args: { email: one.email }, options: {}, print, confirm } as never), {
        code: 'USER_NOT_FOUND',
      })
    })
  })
}
