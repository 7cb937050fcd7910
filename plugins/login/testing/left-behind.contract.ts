import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { databaseService } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { env, post } from '../../../scripts/testing/login-session.js'
import { login } from '../index.js'
import type { LoginOptions } from '../options.js'
import type { ErasureBackend } from './erasure.contract.js'
import { erasedBy, erasing, fullAccount, mailer, tablesWith } from './full-account.js'

const everything = { refreshTokens: true, totp: true, passwordReset: true, emailVerification: 'optional' } as const

/** Erasures that fail midway, and accounts of which an app no longer, or never, knew all. */
export function describeLeftBehind(name: string, backend: () => ErasureBackend): void {
  describe(`what an erasure could leave of an account in ${name}`, () => {
    let dataDir: string
    const mails: string[] = []
    /** Records of another plugin by the id of the user. Its listener is registered after those of login. */
    const vault = { records: new Map<string, string>(), broken: false, saw: [] as string[] }
    const stranger = definePlugin({
      name: 'vault',
      version: '1.0.0',
      setup: ({ hooks }) =>
        void hooks.on('eraseSubject', (subject) => {
          vault.saw.push(subject)
          if (vault.broken) throw new Error('the vault is locked')
          return vault.records.delete(subject) ? 1 : 0
        }),
    })
    const { plugins, env: own = {} } = backend()
    const stores = plugins()
    const boot = (options: Partial<LoginOptions>): Promise<TestHost> =>
      createTestHost({
        env: { ...env, QUEUE_FSYNC: 'off', WORKER_GDPR: 'true', WORKER_AUDIT_LOG: 'false', WORKER_ENCRYPTION: 'false', ...own },
        plugins: [
          ...stores,
          cluster(),
          queues(),
          ops(),
          compliance({ subjects: { orders: ['user.id'] } }),
          jwt(),
          bulletproof(),
          login(options),
          mailer(mails),
          stranger(),
        ],
        dataDir,
      })
    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'zin-left-behind-'))
    })
    after(() => rm(dataDir, { recursive: true, force: true }))
    const withApp = async (options: Partial<LoginOptions>, work: (host: TestHost) => Promise<void>): Promise<void> => {
      const host = await boot(options)
      await work(host).finally(() => host.stop())
    }

    it('is nothing if another plugin fails and the erasure is repeated: the other name is still known', () =>
      withApp(everything, async (host) => {
        for (const by of ['id', 'email'] as const) {
          const one = await fullAccount(host, mails)
          vault.records.set(one.id, 'a secret')
          Object.assign(vault, { broken: true, saw: [] })
          for (const _attempt of [1, 2]) {
            const failed = await erasing(host, one[by])
            assert.deepEqual([failed.status, failed.body.code], [503, 'ERASURE_FAILED'])
            assert.match(failed.text, /the plugin vault did not erase its part: the vault is locked/)
          }
          assert.deepEqual([...new Set(vault.saw)].toSorted(), [one.id, one.email].toSorted())
          assert.deepEqual(await tablesWith(host, one), ['zin_users'])
          assert.equal((await post(host, { email: one.email, password: one.password })).status, 401)
          vault.broken = false
          assert.deepEqual([(await erasedBy(host, one[by])).state, vault.records.size], ['completed', 0])
          assert.deepEqual(await tablesWith(host, one), [])
        }
      }))

    it('is nothing if options of login are off by now', async () => {
      const known: Awaited<ReturnType<typeof fullAccount>>[] = []
      await withApp(everything, async (host) => {
        for (let n = 0; n < 4; n++) known.push(await fullAccount(host, mails))
        for (const one of known) assert.equal((await tablesWith(host, one)).length, 5)
      })
      const ownUsers = { verifyCredentials: async () => undefined }
      for (const [options, by] of [
        [{}, 'id'],
        [{}, 'email'],
        [ownUsers, 'email'],
        [{ ...ownUsers, totp: true }, 'id'],
      ] as const)
        await withApp(options, async (host) => {
          const one = known.pop() ?? assert.fail()
          const { text } = await host.inject({ path: `/api/compliance/subjects/${encodeURIComponent(one[by])}/export` })
          for (const kind of ['account', 'device', 'refresh token', 'second factor', 'mailed token'])
            assert.match(text, new RegExp(`"${kind}"`))
          // The account, a device, a second factor and two mailed tokens.
          assert.equal((await erasedBy(host, one[by])).elsewhere, 5)
          assert.deepEqual(await tablesWith(host, one), [])
          for (const other of known) assert.equal((await tablesWith(host, other)).length, 5)
        })
    })

    it('is nothing of users of your own, whose id is an email address or another id, also of a device that was removed', async () => {
      const users = new Map([`${randomUUID()}@example.com`, `${randomUUID()}`].map((id) => [id, `${id.slice(0, 36)}@example.com`]))
      const verifyCredentials = async (email: string) => {
        const [id] = [...users].find(([, address]) => address === email) ?? []
        return id === undefined ? undefined : { id, email, role: 'user' }
      }
      const findUser: LoginOptions['findUser'] = async (id) => {
        const email = users.get(String(id))
        return email === undefined ? undefined : { id, email, role: 'user' }
      }
      await withApp({ verifyCredentials, findUser, refreshTokens: true, totp: true }, async (host) => {
        for (const [id, email] of users) {
          const sessions = [await post(host, { email, password: 'x' }), await post(host, { email, password: 'x' })].map(({ body }) => body)
          const devices = host.service(devicesService)
          const left = async () => (await tablesWith(host, { id, email })).join()
          for (const { deviceId } of sessions.slice(1)) await devices.remove(deviceId)
          assert.equal(await left(), 'zin_refresh_tokens')
          const { text } = await host.inject({ path: `/api/compliance/subjects/${encodeURIComponent(id)}/export` })
          assert.equal(text.match(/"refresh token"/g)?.length, 2, text)
          await erasedBy(host, id)
          assert.deepEqual([await left(), await devices.list(id)], ['', []])
          for (const { refreshToken } of sessions)
            assert.equal((await host.inject({ method: 'POST', path: '/auth/refresh', body: { refreshToken } })).status, 401)
          const rows = await host
            .service(databaseService)
            .tables()
            .selectFrom('bulletproof_devices')
            .where('user_id', '=', id)
            .selectAll()
            .execute()
          for (const { label, signing_secret } of rows) assert.deepEqual([label, signing_secret], [null, ''])
        }
      })
    })
  })
}
