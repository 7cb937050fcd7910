import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { bulletproof, devicesService, signedRequestsService } from 'zin/plugins/bulletproof'
import { database, databaseService } from 'zin/plugins/database'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { createHeaders } from 'zin/signer'
import { createTestHost, type TestHostOptions } from 'zin/testing'
import { appKey, sharedSecret, type TestApp, withApp } from './testing/app.js'

describe('a device', () => {
  it('keeps its id and gets a new secret when its user logs in with it again, also after its removal', () =>
    withApp({}, async (app) => {
      const devices = app.service(devicesService)
      const again = await devices.enroll({ userId: '7', deviceId: app.deviceId })
      assert.equal(again.device.deviceId, app.deviceId)
      assert.equal((await app.send()).status, 401)
      assert.equal((await app.send({ secret: again.secret })).status, 200)
      await devices.remove(app.deviceId)
      const { secret } = await devices.enroll({ userId: '7', deviceId: app.deviceId })
      assert.equal((await app.send({ secret: again.secret })).status, 401)
      assert.equal((await app.send({ secret })).status, 200)
    }))

  it('S23: of another user is not replaced: a login that requests its id gets another one', () =>
    withApp({}, async (app) => {
      const { device } = await app.service(devicesService).enroll({ userId: '8', deviceId: app.deviceId })
      assert.notEqual(device.deviceId, app.deviceId)
      assert.equal((await app.send()).status, 200)
    }))

  it('S16: stays removed for as long as one of its tokens can be valid, even if tombstoneMs is shorter', () =>
    withApp({ plugins: [database(), kv()], options: { deviceStore: 'kv' }, env: { JWT_EXPIRES_IN: String(40 * 86_400) } }, async (app) => {
      assert.equal(await app.service(devicesService).remove(app.deviceId), true)
      app.clock.advance(39 * 86_400_000)
      const bystander = { keyId: 'nobody', secret: sharedSecret, token: await app.tokenWith({ deviceId: undefined }) }
      assert.equal((await app.send(bystander)).status, 200)
      assert.equal((await app.send({ secret: sharedSecret })).status, 401)
    }))

  it('S18: of an earlier system can sign with its plain-text secret when legacySecrets is set, and its first request seals the secret', async () => {
    const plain = 'a-secret-of-an-earlier-system-0123456789'
    const withRow = (legacySecrets: boolean, test: (app: TestApp, row: () => Promise<string>) => Promise<void>) =>
      withApp({ plugins: [database()], options: { deviceStore: 'db', legacySecrets } }, async (app) => {
        const tables = app.service(databaseService).tables()
        await tables.updateTable('bulletproof_devices').set({ signing_secret: plain }).execute()
        await test(app, async () => {
          const { signing_secret } = await tables.selectFrom('bulletproof_devices').select('signing_secret').executeTakeFirstOrThrow()
          return signing_secret
        })
      })
    await Promise.all([
      withRow(false, async (app, row) => {
        assert.equal((await app.send({ secret: plain })).status, 401)
        assert.equal(await row(), plain)
      }),
      withRow(true, async (app, row) => {
        assert.equal((await app.send({ secret: 'another-secret' })).status, 401)
        assert.equal((await app.send({ secret: plain })).status, 200)
        assert.match(await row(), /^zs1\./)
        assert.equal((await app.send({ secret: plain })).status, 200)
        const tables = app.service(databaseService).tables()
        for (const signing_secret of ['ed25519:AAAA', 'zs1.what.ever.it.is', '']) {
          await tables.updateTable('bulletproof_devices').set({ signing_secret }).execute()
          assert.equal((await app.send({ secret: signing_secret || 'empty' })).status, 401)
        }
      }),
    ])
  })

  it('can have any free id, except a malformed one or one that a trusted caller uses', () =>
    withApp({ options: { sharedKeyIds: ['billing'] } }, async (app) => {
      const enroll = async (deviceId: string): Promise<string> =>
        (await app.service(devicesService).enroll({ userId: '7', deviceId })).device.deviceId
      assert.equal(await enroll('my-laptop'), 'my-laptop')
      for (const id of ['', 'a b', 'é', 'x'.repeat(129), 'billing', 'zin-cli', '../x', 'a\nb'])
        assert.match(await enroll(id), /^dev_[0-9a-f]{32}$/)
    }))

  it('is removed when its user has too many and it is the least recently seen', () =>
    withApp({ options: { maxDevicesPerUser: 3 } }, async (app) => {
      const devices = app.service(devicesService)
      for (const deviceId of ['a', 'b', 'c']) {
        app.clock.advance(1_000)
        await devices.enroll({ userId: '7', deviceId })
      }
      assert.deepEqual(
        (await devices.list('7')).map(({ deviceId }) => deviceId),
        ['c', 'b', 'a'],
      )
      assert.equal((await app.send()).status, 401)
    }))

  it('is removed with all others of its user, and none of other users', () =>
    withApp({}, async (app) => {
      const devices = app.service(devicesService)
      await devices.enroll({ userId: '7' })
      await devices.enroll({ userId: '8', deviceId: 'other' })
      assert.equal(await devices.remove('other', '7'), false)
      assert.equal(await devices.removeAll('7'), 2)
      assert.equal((await devices.list('8')).length, 1)
      assert.equal((await app.send()).status, 401)
    }))

  it('gets a new lastSeenAt at most every five minutes', () =>
    withApp({}, async (app) => {
      const lastSeen = async () => (await app.service(devicesService).get(app.deviceId))?.lastSeenAt
      const first = await lastSeen()
      await app.send()
      assert.equal(await lastSeen(), first)
      app.clock.advance(5 * 60_000)
      const now = app.clock.now()
      await app.send({ token: await app.tokenWith({}) })
      assert.equal(await lastSeen(), now)
    }))
})

describe('the routes of devices', () => {
  it('list the devices of the caller without secrets, and remove one of them', () =>
    withApp({}, async (app) => {
      const devices = app.service(devicesService)
      await devices.enroll({ userId: '7', deviceId: 'phone', label: 'Phone' })
      await devices.enroll({ userId: '8', deviceId: 'other' })
      const list = await app.send({ path: '/auth/devices' })
      const current = Object.fromEntries(
        list.body.devices.map((device: { deviceId: string; current: boolean }) => [device.deviceId, device.current]),
      )
      assert.deepEqual(current, { [app.deviceId]: true, phone: false })
      assert.ok(!/secret|zs1/i.test(list.text))
      const end = (id: string) => app.send({ method: 'DELETE', path: `/auth/devices/${id}` })
      const gone = await end('phone')
      assert.deepEqual([gone.status, gone.body], [200, { message: 'Device removed' }])
      for (const id of ['phone', 'other', 'nothing'])
        assert.deepEqual([(await end(id)).status, (await end(id)).body.code], [404, 'DEVICE_NOT_FOUND'])
      assert.equal((await devices.list('8')).length, 1)
      assert.equal((await end(app.deviceId)).status, 200)
      assert.equal((await app.send()).status, 401)
    }))

  it('require a token and a signature', () =>
    withApp({}, async (app) => {
      assert.equal((await app.host.inject({ path: '/auth/devices', headers: { authorization: `Bearer ${app.token}` } })).status, 401)
      assert.equal((await app.send({ path: '/auth/devices', token: undefined })).status, 401)
    }))
})

describe('a secret at rest', () => {
  it('S18: is sealed, bound to its row, and resealed after a change of the master key', async () => {
    const plugins = [database(), jwt(), bulletproof()]
    const routes = [{ method: 'GET', path: '/api/me', summary: 'Me', use: ['bulletproof'], handler: () => ({}) }] as const
    const first = await createTestHost({ env: { APP_KEY: appKey }, plugins, routes })
    let secret = ''
    const rows = async (host: typeof first): Promise<{ device_id: string; signing_secret: string }[]> =>
      host
        .service(databaseService)
        .tables<{ bulletproof_devices: { device_id: string; signing_secret: string } }>()
        .selectFrom('bulletproof_devices')
        .selectAll()
        .execute()
    const send = async (host: typeof first, deviceId: string, with_ = secret): Promise<number> => {
      const { token } = await host.service(tokensService).issue({ sub: '7', deviceId })
      const signed = await createHeaders({ method: 'GET', url: '/api/me', keyId: deviceId, secret: with_ })
      return (await host.inject({ path: '/api/me', headers: { ...signed, authorization: `Bearer ${token}` } })).status
    }
    try {
      secret = (await first.service(devicesService).enroll({ userId: '7', deviceId: 'one' })).secret
      await first.service(devicesService).enroll({ userId: '7', deviceId: 'two' })
      const [one] = await rows(first)
      assert.match(one?.signing_secret ?? '', /^zs1\./)
      assert.ok(!JSON.stringify(await rows(first)).includes(secret))
      assert.equal(await send(first, 'one'), 200)

      const tables = first.service(databaseService).tables<{ bulletproof_devices: { device_id: string; signing_secret: string } }>()
      await tables
        .updateTable('bulletproof_devices')
        .set({ signing_secret: one?.signing_secret ?? '' })
        .where('device_id', '=', 'two')
        .execute()
      assert.equal(await send(first, 'two'), 401)

      const env = {
        APP_KEY: 'another-app-key-0123456789abcdefghijk',
        APP_KEY_BK: JSON.stringify([appKey]),
        ZIN_DATA_DIR: `${first.rootDir}/.zin/data`,
      }
      const second = await createTestHost({ env, plugins, routes })
      try {
        assert.equal(await send(second, 'one'), 200)
      } finally {
        await second.stop()
      }
      const third = await createTestHost({ env: { ...env, APP_KEY_BK: '' }, plugins, routes })
      try {
        assert.notEqual((await rows(third))[0]?.signing_secret, one?.signing_secret)
        assert.equal(await send(third, 'one'), 200)
      } finally {
        await third.stop()
      }
    } finally {
      await first.stop()
    }
  })
})

describe('a device whose secret cannot be decrypted', () => {
  it('is reported once per minute, however many requests it sends', () =>
    withApp({ plugins: [database()], options: { deviceStore: 'db' } }, async (app) => {
      const tables = app.service(databaseService).tables()
      await tables.updateTable('bulletproof_devices').set({ signing_secret: 'damaged' }).execute()
      const reports = () => app.host.logText().split('"msg":"a device secret cannot be decrypted').length - 1
      for (const expected of [1, 2]) {
        for (let request = 0; request < 3; request += 1) assert.equal((await app.send()).status, 401)
        assert.equal(reports(), expected)
        app.clock.advance(60_000)
      }
    }))
})

describe('a signer without a device', () => {
  const caller = { keyId: 'caller', secret: sharedSecret }
  const statusOf = (options: Parameters<typeof bulletproof>[0], sending = caller, env: Record<string, string> = {}) => {
    let status = 0
    return withApp({ options: options ?? {}, env }, async (app) => {
      status = (await app.send({ ...sending, token: await app.tokenWith({ deviceId: undefined }) })).status
    }).then(() => status)
  }

  it('S16: is accepted according to sharedSecretFor', async () => {
    assert.equal(await statusOf({}), 200)
    assert.equal(await statusOf({ sharedSecretFor: 'none' }), 401)
    assert.equal(await statusOf({ sharedSecretFor: 'listed', sharedKeyIds: ['caller'] }), 200)
    assert.equal(await statusOf({ sharedSecretFor: 'listed', sharedKeyIds: ['other'] }), 401)
  })

  it('S20: can use each backup of the secret that the command keeps, up to maxBackups', async () => {
    const BULLETPROOF_SIGNING_SECRET_BK = JSON.stringify(['b1', 'b2', 'b3', 'b4', 'b5', 'b6'])
    assert.equal(await statusOf({}, { ...caller, secret: 'b5' }, { BULLETPROOF_SIGNING_SECRET_BK }), 200)
    assert.equal(await statusOf({}, { ...caller, secret: 'b6' }, { BULLETPROOF_SIGNING_SECRET_BK }), 200)
    assert.equal(await statusOf({ maxBackups: 5 }, { ...caller, secret: 'b6' }, { BULLETPROOF_SIGNING_SECRET_BK }), 401)
  })

  it('S20: cannot use a weak backup in production: replacing a weak secret revokes it', async () => {
    const long = 'x'.repeat(32)
    const env = { NODE_ENV: 'production', BULLETPROOF_SIGNING_SECRET_BK: JSON.stringify(['weak', long]) }
    assert.equal(await statusOf({}, { ...caller, secret: long }, env), 200)
    assert.equal(await statusOf({}, { ...caller, secret: 'weak' }, env), 401)
    assert.equal(await statusOf({}, { ...caller, secret: 'weak' }, { ...env, NODE_ENV: 'development' }), 200)
  })

  it('uses the secret from the resolver for ids that match no device, then from the hook, then the shared one', () => {
    const asked: string[] = []
    const hooking = definePlugin({
      name: 'hooking',
      version: '1.0.0',
      setup: ({ hooks }) => void hooks.on('resolveSigningSecret', (keyId) => (keyId === 'hooked' ? 'hook-secret' : undefined)),
    })
    const getSecretForKeyId = (keyId: string): string | undefined => {
      asked.push(keyId)
      return keyId === 'resolved' ? 'own-secret' : undefined
    }
    return withApp({ plugins: [hooking()], options: { getSecretForKeyId } }, async (app) => {
      const token = await app.tokenWith({ deviceId: undefined })
      for (const [keyId, secret, status] of [
        ['resolved', 'own-secret', 200],
        ['resolved', sharedSecret, 401],
        ['hooked', 'hook-secret', 200],
        ['hooked', sharedSecret, 401],
        ['third', sharedSecret, 200],
      ] as const)
        assert.equal((await app.send({ keyId, secret, token })).status, status, keyId)
      await app.send()
      assert.ok(!asked.includes(app.deviceId))
    })
  })

  it('gets a 503 when the resolver fails', async () => {
    assert.equal(await statusOf({ getSecretForKeyId: () => Promise.reject(new Error('vault is sealed')) }), 503)
  })
})

describe('the service for signed requests', () => {
  it('accepts the shared secret or a device, as requested, without a token, and each request once', () =>
    withApp(
      {
        routes: [
          {
            method: 'GET',
            path: '/proxy',
            summary: 'Proxy',
            handler: async (ctx) => {
              const from = String(ctx.query.from).split('-') as ('shared' | 'device')[]
              return (await host?.service(signedRequestsService).verify(ctx, from)) ?? {}
            },
          },
        ],
      },
      async (app) => {
        host = app.host
        const ask = async (from: string, sending: object = {}) => {
          const headers = await app.headersOf({ path: `/proxy?from=${from}`, token: undefined, ...sending })
          return (await app.host.inject({ path: `/proxy?from=${from}`, headers })).body
        }
        const shared = { keyId: 'zin-cli', secret: sharedSecret }
        assert.deepEqual(await ask('shared', shared), { ok: true, signer: { kind: 'shared', keyId: 'zin-cli' } })
        assert.deepEqual(await ask('shared', { ...shared, headers: { 'x-sig-device-id': undefined } }), {
          ok: true,
          signer: { kind: 'shared', keyId: 'zin-cli' },
        })
        assert.deepEqual((await ask('shared')).layer, 6)
        assert.deepEqual(await ask('shared-device'), { ok: true, signer: { kind: 'device', keyId: app.deviceId, userId: '7' } })
        assert.deepEqual((await ask('device', shared)).layer, 6)
        assert.deepEqual((await ask('shared', { ...shared, headers: { 'x-sig-device-id': 'x' } })).layer, 7)
        const headers = await app.headersOf({ path: '/proxy?from=shared', token: undefined, ...shared })
        const both = await Promise.all([0, 1].map(() => app.host.inject({ path: '/proxy?from=shared', headers })))
        assert.equal(both.filter(({ body }) => body.ok).length, 1)
      },
    ))
  let host: Awaited<ReturnType<typeof createTestHost>> | undefined
})

describe('booting', () => {
  const boot = async (
    env: Record<string, string>,
    options: Parameters<typeof bulletproof>[0] = {},
    plugins = [database()],
    more: Pick<TestHostOptions, 'roles'> = {},
  ) => {
    const host = await createTestHost({ env, plugins: [...plugins, jwt(), bulletproof(options)], ...more })
    await host.stop()
    return host.logText()
  }
  const long = 'k'.repeat(40)

  it('S17: fails in production with a short secret or without the key that seals devices', async () => {
    const production = { NODE_ENV: 'production', JWT_SECRET: long }
    await assert.rejects(
      boot({ ...production, APP_KEY: long, BULLETPROOF_SIGNING_SECRET: 'short' }),
      /BULLETPROOF_SIGNING_SECRET has 5 bytes/,
    )
    await assert.rejects(boot({ ...production, BULLETPROOF_SIGNING_SECRET: long }), /APP_KEY encrypts the device secrets/)
    await assert.rejects(boot({ ...production, APP_KEY: 'short', BULLETPROOF_SIGNING_SECRET: long }), /APP_KEY has 5 bytes/)
    await boot({ ...production, APP_KEY: long, BULLETPROOF_SIGNING_SECRET: long })
    // Operator routes accept the shared secret whatever the value of sharedSecretFor.
    const short = { ...production, APP_KEY: long, BULLETPROOF_SIGNING_SECRET: 'short' }
    await assert.rejects(boot(short, { sharedSecretFor: 'none' }), /BULLETPROOF_SIGNING_SECRET has 5 bytes/)
    const log = await boot({ ...production, APP_KEY: long, BULLETPROOF_SIGNING_SECRET_BK: '["weak"]' })
    assert.match(log, /1 of the secrets in BULLETPROOF_SIGNING_SECRET_BK have fewer than 32 bytes and are ignored in production/)
  })

  it('S16: warns in production that the shared secret is accepted for any key id, if so and if the process serves requests', async () => {
    const env = { NODE_ENV: 'production', JWT_SECRET: long, APP_KEY: long, BULLETPROOF_SIGNING_SECRET: long }
    const warned = /accepted for any key id.*sharedSecretFor of bulletproof to \\"listed\\" or \\"none\\" in zin\.config\.ts/
    assert.match(await boot(env), warned)
    assert.match(await boot(env, {}, undefined, { roles: ['http'] }), warned)
    for (const roles of [[], ['worker']] as const) assert.doesNotMatch(await boot(env, {}, undefined, { roles }), /signs for any/)
    for (const sharedSecretFor of ['listed', 'none'] as const) assert.doesNotMatch(await boot(env, { sharedSecretFor }), /signs for any/)
  })

  it('S17: warns when one key serves two purposes', async () => {
    assert.match(await boot({ APP_KEY: long }), /APP_KEY is also the shared signing secret/)
    assert.doesNotMatch(await boot({ APP_KEY: long, BULLETPROOF_SIGNING_SECRET: long }), /serves as/)
  })

  it('fails with malformed backups, options out of range or a store that is not enabled, and never shows a secret', async () => {
    const refusal = async (env: Record<string, string>, options: object = {}): Promise<string> => {
      const error = await boot({ APP_KEY: 'hush'.repeat(10), ...env }, options, []).catch((thrown: Error) => thrown)
      assert.ok(error instanceof Error)
      assert.ok(!error.message.includes('hush'))
      return error.message
    }
    assert.match(await refusal({ BULLETPROOF_SIGNING_SECRET_BK: 'hush,hush' }), /BULLETPROOF_SIGNING_SECRET_BK: it is not JSON/)
    assert.match(await refusal({ APP_KEY_BK: '{"hush":1}' }), /APP_KEY_BK: it is not an array/)
    assert.match(await refusal({ APP_KEY_BK: '[{"secret":"hush","notAfter":1}]' }), /APP_KEY_BK: entry 0 has a "notAfter"/)
    assert.match(await refusal({ SIGNATURE_HEADER_PREFIX: 'X Sig' }), /SIGNATURE_HEADER_PREFIX/)
    assert.match(await refusal({}, { nonceStore: 'kv' }), /nonceStore "kv" requires the plugin kv/)
    for (const windowMs of [999, 300_001, 1.5]) assert.match(await refusal({}, { windowMs }), /windowMs/)
  })
})
