import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Plugin } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { sessions } from 'zin/plugins/sessions'
import { createTestHost } from 'zin/testing'
import { sessionRoutes } from './testing/app.js'

/** Subjects of an app without the plugin `login`. */
export function erasureContract(
  name: string,
  backend: () => { readonly plugins: readonly Plugin[]; readonly env?: Readonly<Record<string, string>> },
): void {
  describe(`the devices and sessions of a subject without the plugin login, on ${name}`, () => {
    it('are exported without secrets and erased with the tokens, and only those of the subject', async () => {
      const { plugins, env } = backend()
      const host = await createTestHost({
        env: {
          APP_KEY: 'an-app-key-of-at-least-thirty-two-bytes',
          QUEUE_FSYNC: 'off',
          WORKER_GDPR: 'true',
          WORKER_AUDIT_LOG: 'false',
          ...env,
        },
        plugins: [
          ...plugins,
          cluster(),
          queues(),
          ops(),
          compliance({ subjects: { orders: ['user.id'] } }),
          jwt(),
          bulletproof(),
          sessions({ secure: false }),
          sessionRoutes(),
        ],
        routes: [{ method: 'GET', path: '/who', summary: 'Who', use: ['auth'], handler: () => ({}) }],
      })
      try {
        const devices = host.service(devicesService)
        const known = async (sub: string) => {
          const { device, secret } = await devices.enroll({ userId: sub, label: `of ${sub}` })
          const { token } = await host.service(tokensService).issue({ sub })
          const { headers } = await host.inject({ method: 'POST', path: '/sign-in', headers: { 'x-sub': sub } })
          const cookie = String([headers['set-cookie']].flat()[0]).split(';')[0] as string
          const access = async () => [
            (await host.inject({ path: '/who', headers: { authorization: `Bearer ${token}` } })).status,
            (await host.inject({ path: '/read', headers: { cookie } })).body.user,
            (await devices.list(sub)).length,
            (await devices.get(device.deviceId))?.label,
          ]
          return { access, secrets: [secret, token, cookie.split('=')[1] as string] }
        }
        const path = (sub: string) => `/api/compliance/subjects/${encodeURIComponent(sub)}`
        const other = await known('eve')
        for (const sub of ['7', 'ada@example.com']) {
          const one = await known(sub)
          assert.deepEqual(await one.access(), [200, sub, 1, `of ${sub}`])
          const { text } = await host.inject({ path: `${path(sub)}/export` })
          const { records } = JSON.parse(text) as { readonly records: readonly { readonly plugin: string; readonly kind: string }[] }
          assert.deepEqual(
            records.map(({ kind, plugin }) => `${plugin} ${kind}`),
            ['bulletproof device', 'sessions session'],
            text,
          )
          for (const secret of one.secrets) assert.ok(!text.includes(secret))
          const { body } = await host.inject({ method: 'DELETE', path: path(sub), headers: { 'x-requested-with': 'test' } })
          assert.deepEqual([body.erasure.state, body.erasure.elsewhere], ['completed', 1])
          assert.deepEqual(await one.access(), [401, null, 0, undefined])
          assert.deepEqual(JSON.parse((await host.inject({ path: `${path(sub)}/export` })).text).records, [])
        }
        assert.deepEqual(await other.access(), [200, 'eve', 1, 'of eve'])
      } finally {
        await host.stop()
      }
    })
  })
}
