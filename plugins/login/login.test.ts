import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import type { ActionEnd, ManagementAction } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { createHeaders, generateDeviceKey } from 'zin/signer'
import { createTestHost, describePlugin, type TestHost, type TestHostOptions } from 'zin/testing'
import { addUser, companions, env, loginHost, post, run, type Session, signed } from '../../scripts/testing/login-session.js'
import { login } from './index.js'
import type { LoginOptions } from './options.js'

const wrong = { error: 'Unauthorized', message: 'Email or password is wrong', code: 'INVALID_CREDENTIALS' }

async function withHost(
  test: (host: TestHost) => Promise<void>,
  options: Partial<LoginOptions> = {},
  given: TestHostOptions = {},
): Promise<void> {
  const host = await loginHost(options, given)
  try {
    await test(host)
  } finally {
    await host.stop()
  }
}

async function logIn(host: TestHost, email: string, password: string, deviceId?: string): Promise<Session> {
  const { status, body } = await post(host, { email, password, ...(deviceId !== undefined && { deviceId }) })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

describe('POST /auth/login', () => {
  it('S25: returns a token with user, role and device, and a secret for signing requests', () =>
    withHost(async (host) => {
      const { id, password } = await addUser(host, 'Ada@Example.com', 'admin')
      const { status, body, headers } = await post(host, { email: 'aDA@example.COM', password })
      assert.deepEqual(
        [status, Object.keys(body), headers['cache-control']],
        [200, ['jwt', 'deviceId', 'deviceSecret', 'refreshToken'], 'no-store'],
      )
      const { sub, email, role, deviceId, tz, uaHash } = host.service(tokensService).verify(body.jwt)
      assert.deepEqual(
        { sub, email, role, deviceId, tz, uaHash },
        { sub: id, email: 'ada@example.com', role: 'admin', deviceId: body.deviceId, tz: undefined, uaHash: undefined },
      )

      const me = await signed(host, body, 'GET', '/api/me')
      assert.deepEqual(
        [me.status, me.body, me.headers['cache-control']],
        [200, { id, email: 'ada@example.com', role: 'admin', deviceId: body.deviceId }, 'no-store'],
      )
      assert.ok(!host.logText().includes(body.jwt) && !host.logText().includes(body.deviceSecret) && !host.logText().includes(password))
    }))

  it('is one management action on the account, whatever the spelling of its email', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'zo\u00eb@example.com')
      for (const email of ['zo\u00eb@example.com', 'Zoe\u0308@Example.com']) await logIn(host, email, password)
      const targets = host
        .recorded('onManagementAction')
        .flatMap(([one]) => ((one as ManagementAction).action === 'login' ? [(one as ManagementAction).target] : []))
      assert.deepEqual([targets.length, new Set(targets).size], [2, 1])
    }))

  it('records what commands do to users, without their email', () =>
    withHost(async (host) => {
      const { id } = await addUser(host, 'ada@example.com')
      await run(host, 'user:password', { email: 'ada@example.com' }, { generate: true, 'password-stdin': false })
      await run(host, 'user:disable', { email: 'ada@example.com' })
      await run(host, 'user:enable', { email: 'ada@example.com' })
      await assert.rejects(run(host, 'user:disable', { email: 'nobody@example.com' }))
      const ended = host.recorded('onManagementAction').map(([action, end]) => ({ ...(action as ManagementAction), ...(end as ActionEnd) }))
      const seen = ended.flatMap(({ action, actor, outcome, target }) =>
        action.startsWith('user.') ? [[action, target, outcome, actor?.via]] : [],
      )
      const unknown = seen.at(-1)?.[1] ?? ''
      assert.deepEqual(seen, [
        ['user.add', `user:${id}`, 'done', 'cli'],
        ['user.password', `user:${id}`, 'done', 'cli'],
        ['user.disable', `user:${id}`, 'done', 'cli'],
        ['user.enable', `user:${id}`, 'done', 'cli'],
        ['user.disable', unknown, 'failed', 'cli'],
      ])
      assert.match(unknown, /^account:[0-9a-f]{16}$/)
      assert.doesNotMatch(JSON.stringify(ended), /example\.com/)
    }))

  it('returns no secret to a device with its own key, and the key signs requests', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      const { privateKey, publicKey } = await generateDeviceKey()
      const { status, body } = await post(host, { email: 'ada@example.com', password, devicePublicKey: publicKey })
      assert.deepEqual([status, Object.keys(body), body.deviceSecret], [200, ['jwt', 'deviceId', 'deviceSecret', 'refreshToken'], ''])
      const me = async (path = '/api/me') => {
        const [url, authorization] = [`http://localhost${path}`, `Bearer ${body.jwt}`]
        // The app has just started, and refuses requests that may have been signed in the second before.
        const signer = { keyId: body.deviceId, privateKey, timestamp: Date.now() + 1_000 }
        const headers = await createHeaders({ profile: 'rfc9421', method: 'GET', url, authorization, ...signer })
        return host.inject({ path, headers: { host: 'localhost', ...headers } })
      }
      assert.equal((await me()).status, 200)
      const { body: list } = await me('/auth/devices')
      assert.deepEqual([list.devices[0].publicKey, list.devices[0].profile], [publicKey, 'rfc9421'])
      const good = { email: 'ada@example.com', password }
      for (const devicePublicKey of ['', publicKey.slice(1), `${publicKey.slice(0, 42)}B`, 1])
        assert.equal((await post(host, { ...good, devicePublicKey })).status, 400)
      // The neutral element, for which one signature is valid for every request.
      const weak = Buffer.alloc(32, 0).fill(1, 0, 1).toString('base64url')
      const refused = await post(host, { ...good, devicePublicKey: weak })
      assert.deepEqual([refused.status, refused.body.code], [400, 'DEVICE_PUBLIC_KEY_INVALID'])
    }))

  it('S22: returns the same response for a wrong password, an unknown user and a disabled one', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      const gone = await addUser(host, 'gone@example.com')
      await run(host, 'user:disable', { email: 'gone@example.com' })
      const answers = [
        await post(host, { email: 'ada@example.com', password: `${password}x` }),
        await post(host, { email: 'nobody@example.com', password }),
        await post(host, { email: 'gone@example.com', password: gone.password }),
      ]
      for (const { status, text } of answers) assert.deepEqual([status, text], [401, JSON.stringify(wrong)])
    }))

  it('keeps the device that a user sends, with a new secret', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      const first = await logIn(host, 'ada@example.com', password)
      const second = await logIn(host, 'ada@example.com', password, first.deviceId)
      assert.equal(second.deviceId, first.deviceId)
      assert.equal((await signed(host, { ...second, deviceSecret: first.deviceSecret }, 'GET', '/api/me')).status, 401)
      assert.equal((await signed(host, second, 'GET', '/api/me')).status, 200)
    }))

  it('S23: creates a new device for a user who sends the device of another user', () =>
    withHost(async (host) => {
      const [ada, eve] = [await addUser(host, 'ada@example.com'), await addUser(host, 'eve@example.com')]
      const hers = await logIn(host, 'ada@example.com', ada.password)
      const taken = await logIn(host, 'eve@example.com', eve.password, hers.deviceId)
      assert.notEqual(taken.deviceId, hers.deviceId)
      assert.equal((await signed(host, hers, 'GET', '/api/me')).status, 200)
    }))

  it('creates a new device for an unknown device id, which may be the key id of a service', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      const { deviceId } = await logIn(host, 'ada@example.com', password, 'billing-service')
      assert.match(deviceId, /^dev_[0-9a-f]{32}$/)
    }))

  it('refuses bodies of the wrong shape with 400', () =>
    withHost(async (host) => {
      const good = { email: 'ada@example.com', password: 'a-password' }
      const bodies = [
        {},
        { email: good.email },
        { ...good, email: 1 },
        { ...good, email: '' },
        { ...good, email: `${'x'.repeat(320)}@` },
        { ...good, password: 'x'.repeat(129) },
        { ...good, password: { $ne: '' } },
        { ...good, deviceId: 'x'.repeat(129) },
        { ...good, deviceId: ['a'] },
      ]
      for (const body of bodies) assert.equal((await post(host, body)).status, 400, JSON.stringify(body).slice(0, 80))
      assert.equal((await post(host, { ...good, pad: 'x'.repeat(9000) })).status, 413)
    }))

  it('calls verifyCredentials instead of using the users table, which then does not exist', async () => {
    const verifyCredentials = async (email: string, password: string) =>
      password === 'right' ? { id: 7, email, role: 'clerk' } : undefined
    const host = await createTestHost({ plugins: [jwt(), bulletproof(), login({ verifyCredentials })], env })
    const session = await logIn(host, 'a@b.c', 'right')
    const { id, email, role } = (await signed(host, session, 'GET', '/api/me')).body
    assert.deepEqual({ id, email, role }, { id: 7, email: 'a@b.c', role: 'clerk' })
    assert.deepEqual((await post(host, { email: 'a@b.c', password: 'wrong' })).body, wrong)
    assert.equal(
      host.host.commands().some(({ plugin }) => plugin === 'login'),
      false,
    )
    await host.stop()
  })

  it('leaves no new device behind when no token can be issued, and keeps an earlier one', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const verifyCredentials = async (email: string) => ({ id: 'u1', email, role: 'user' })
    const host = await createTestHost({
      plugins: [jwt(), bulletproof(), login({ verifyCredentials })],
      env: { ...env, JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: String(publicKey.export({ type: 'spki', format: 'pem' })) },
    })
    const devices = host.service(devicesService)
    const { device } = await devices.enroll({ userId: 'u1' })
    for (const deviceId of [undefined, device.deviceId])
      assert.equal((await post(host, { email: 'a@b.c', password: 'right', deviceId })).status, 500)
    assert.deepEqual(
      (await devices.list('u1')).map(({ deviceId }) => deviceId),
      [device.deviceId],
    )
    await host.stop()
  })

  it('S41: binds the token to time zone and User-Agent with the options', () =>
    withHost(
      async (host) => {
        const { password } = await addUser(host, 'ada@example.com')
        const client = { 'x-sig-timezone': 'Europe/Oslo', 'user-agent': 'tour/1' }
        const { body } = await post(host, { email: 'ada@example.com', password }, client)
        const { tz, uaHash } = host.service(tokensService).verify(body.jwt)
        assert.deepEqual([tz, uaHash], ['Europe/Oslo', createHash('sha256').update('tour/1').digest('hex')])
        assert.equal((await signed(host, body, 'GET', '/api/me', client)).status, 200)
        assert.equal((await signed(host, body, 'GET', '/api/me', { ...client, 'user-agent': 'other/1' })).status, 401)
      },
      { bindTimezone: true, bindUserAgent: true },
    ))
})

describe('the throttle of logins', () => {
  it('S21: responds 429 with Retry-After after five attempts in a minute for one email and address, whatever the password', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      for (let attempt = 0; attempt < 5; attempt += 1)
        assert.equal((await post(host, { email: 'ada@example.com', password: 'wrong-one' })).status, 401)
      const { status, body, headers } = await post(host, { email: 'ADA@example.com', password })
      assert.deepEqual([status, body.code], [429, 'RATE_LIMITED'])
      const seconds = Number(headers['retry-after'])
      assert.ok(seconds >= 1 && seconds <= 60, String(headers['retry-after']))
      assert.equal((await post(host, { email: 'ada@example.com', password }, {}, '10.0.0.9')).status, 200)
      assert.equal((await post(host, { email: 'bob@example.com', password })).status, 401)
    }))

  it('resets after a successful login', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      for (let round = 0; round < 3; round += 1) {
        for (let attempt = 0; attempt < 4; attempt += 1)
          assert.equal((await post(host, { email: 'ada@example.com', password: 'wrong-one' })).status, 401)
        await logIn(host, 'ada@example.com', password)
      }
    }))

  it('S21: allows no more parallel attempts than the limit', () =>
    withHost(async (host) => {
      const answers = await Promise.all(Array.from({ length: 30 }, () => post(host, { email: 'ada@example.com', password: 'wrong-one' })))
      const statuses = answers.map(({ status }) => status)
      assert.deepEqual([statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length], [5, 25])
    }))

  it('limits the attempts on one account from all addresses together, whatever the password, known or not', () =>
    withHost(
      async (host) => {
        const { password } = await addUser(host, 'ada@example.com')
        for (const email of ['ada@example.com', 'nobody@example.com']) {
          const attempt = (index: number, body: object = {}) => post(host, { email, password: 'wrong-one', ...body }, {}, `10.0.0.${index}`)
          for (let index = 0; index < 6; index += 1) assert.equal((await attempt(index)).status, 401)
          const { status, headers } = await attempt(7, { password })
          assert.deepEqual([status, Number(headers['retry-after']) <= 60], [429, true])
        }
      },
      { accountAttemptsPerMinute: 6 },
    ))

  it('accepts a user from a known address or device while an attacker uses up the attempts on the account', () =>
    withHost(
      async (host) => {
        const { password } = await addUser(host, 'ada@example.com')
        const right = { email: 'ada@example.com', password }
        const { body: session } = await post(host, right, {}, '192.0.2.1')
        for (let index = 0; index < 9; index += 1) await post(host, { ...right, password: 'wrong-one' }, {}, `10.0.0.${index}`)
        const statusOf = async (body: object, address: string): Promise<number> =>
          (await post(host, { ...right, ...body }, {}, address)).status
        assert.equal(await statusOf({}, '192.0.2.7'), 429)
        assert.equal(await statusOf({ deviceId: `${session.deviceId}x` }, '192.0.2.7'), 429)
        assert.equal(await statusOf({ deviceId: session.deviceId }, '192.0.2.7'), 200)
        assert.equal(await statusOf({}, '192.0.2.1'), 200)
        for (let attempt = 0; attempt < 5; attempt += 1)
          assert.equal(await statusOf({ deviceId: session.deviceId, password: 'wrong-one' }, '192.0.2.7'), 401)
        assert.equal(await statusOf({ deviceId: session.deviceId }, '192.0.2.7'), 429)
      },
      { accountAttemptsPerMinute: 6 },
    ))

  it('S32: limits the attempts of one address across all emails, and does not trust X-Forwarded-For', () =>
    withHost(
      async (host) => {
        const attempt = async (index: number) =>
          post(host, { email: `u${index}@example.com`, password: 'wrong-one' }, { 'x-forwarded-for': `10.0.0.${index}` })
        for (let index = 0; index < 3; index += 1) assert.equal((await attempt(index)).status, 401)
        assert.equal((await attempt(3)).status, 429)
      },
      { addressAttemptsPerMinute: 3 },
    ))
})

describe('a password', () => {
  it('with markup characters, quotes, other scripts and blanks is kept exactly as typed', async () => {
    const password = ` <b>&amp;"'\`$\\ \u65e5\u672c \u{1f511}% `
    const host = await loginHost(
      { seed: { email: 'ada@example.com', passwordSetting: 'DEMO_PASSWORD' } },
      { env: { ...env, DEMO_PASSWORD: password } },
    )
    try {
      const statusOf = async (typed: string) => (await post(host, { email: 'ada@example.com', password: typed })).status
      assert.equal(await statusOf(password), 200)
      for (const other of [password.trim(), password.replace('&amp;', '&'), password.replaceAll('<', '&lt;')])
        assert.equal(await statusOf(other), 401)
    } finally {
      await host.stop()
    }
  })
})

describe('POST /auth/logout', () => {
  it('revokes the token and removes the device that signed', () =>
    withHost(async (host) => {
      const { id, password } = await addUser(host, 'ada@example.com')
      const [here, there] = [await logIn(host, 'ada@example.com', password), await logIn(host, 'ada@example.com', password)]
      const { status, body, headers } = await signed(host, here, 'POST', '/auth/logout')
      assert.deepEqual([status, body, headers['cache-control']], [200, { message: 'Logged out' }, 'no-store'])
      assert.equal((await signed(host, here, 'POST', '/auth/logout')).status, 401)
      const tokens = host.service(tokensService)
      assert.equal(await tokens.isRevoked(tokens.verify(here.jwt)), true)
      const fresh = await tokens.issue({ sub: id, deviceId: here.deviceId })
      assert.equal((await signed(host, { ...here, jwt: fresh.token }, 'GET', '/api/me')).status, 401)
      assert.equal((await signed(host, there, 'GET', '/api/me')).status, 200)
    }))

  it('requires a signature, so that a stolen token cannot log a user out', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      const session = await logIn(host, 'ada@example.com', password)
      for (const path of ['/auth/logout', '/auth/logout-all']) {
        assert.equal((await host.inject({ method: 'POST', path, headers: { authorization: `Bearer ${session.jwt}` } })).status, 401)
      }
      assert.equal((await signed(host, session, 'GET', '/api/me')).status, 200)
    }))
})

describe('POST /auth/logout-all', () => {
  it('ends every token and device of this user only, and a new login works immediately', () =>
    withHost(async (host) => {
      const [ada, bob] = [await addUser(host, 'ada@example.com'), await addUser(host, 'bob@example.com')]
      const [here, there, his] = [
        await logIn(host, 'ada@example.com', ada.password),
        await logIn(host, 'ada@example.com', ada.password),
        await logIn(host, 'bob@example.com', bob.password),
      ]
      assert.deepEqual((await signed(host, here, 'POST', '/auth/logout-all')).body, { message: 'Logged out everywhere' })
      assert.deepEqual(
        [(await signed(host, here, 'GET', '/api/me')).status, (await signed(host, there, 'GET', '/api/me')).status],
        [401, 401],
      )
      assert.equal(await host.service(tokensService).isRevoked(host.service(tokensService).verify(there.jwt)), true)
      assert.equal((await signed(host, his, 'GET', '/api/me')).status, 200)
      const again = await logIn(host, 'ada@example.com', ada.password)
      assert.equal((await signed(host, again, 'GET', '/api/me')).status, 200)
    }))
})

describe('GET /api/me', () => {
  it('refuses a missing token, a stolen one and a replay with the same bytes', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      const session = await logIn(host, 'ada@example.com', password)
      const answers = [
        await host.inject({ path: '/api/me' }),
        await host.inject({ path: '/api/me', headers: { authorization: `Bearer ${session.jwt}` } }),
        await signed(host, { ...session, deviceSecret: 'another-secret' }, 'GET', '/api/me'),
      ]
      const own = await createHeaders({ method: 'GET', url: '/api/me', keyId: session.deviceId, secret: session.deviceSecret })
      const replay = () => host.inject({ path: '/api/me', headers: { ...own, authorization: `Bearer ${session.jwt}` } })
      assert.equal((await replay()).status, 200)
      answers.push(await replay())
      const seen = answers.map(({ status, text, headers }) => JSON.stringify([status, text, { ...headers, 'x-request-id': '', date: '' }]))
      assert.equal(new Set(seen).size, 1, seen.join('\n'))
      assert.equal(answers[0]?.status, 401)
    }))
})

describe('the boot of the plugin login', () => {
  const boot = (options: object, plugins = companions()) => createTestHost({ plugins: [...plugins, login(options)], env })

  it('stops without users to check against', async () => {
    await assert.rejects(boot({}, [jwt(), bulletproof()]), /enable the plugin database .* or pass login\(\{ verifyCredentials \}\)/)
  })

  it('stops when verifyCredentials is not a function, or is combined with a seed', async () => {
    await assert.rejects(boot({ verifyCredentials: 'yes' }), /"verifyCredentials" must be a function/)
    const seed = { email: 'demo@example.com', passwordSetting: 'DEMO_PASSWORD' }
    await assert.rejects(boot({ verifyCredentials: async () => undefined, seed }), /remove one of them/)
  })

  it('disabling a user removes the devices and revokes the tokens; repeating it removes what is left', () =>
    withHost(async (host) => {
      const { id, password } = await addUser(host, 'ada@example.com')
      const session = await logIn(host, 'ada@example.com', password)
      const { lines } = await run(host, 'user:disable', { email: 'Ada@example.com' })
      assert.deepEqual(lines, ['ada@example.com is disabled; 1 device(s) removed'])
      assert.deepEqual(await host.service(devicesService).list(id), [])
      assert.equal((await signed(host, session, 'GET', '/api/me')).status, 401)
      await host.service(devicesService).enroll({ userId: id })
      const again = await run(host, 'user:disable', { email: 'ada@example.com' })
      assert.deepEqual(again.lines, ['ada@example.com is disabled; 1 device(s) removed'])
    }))
})

describe('a user', () => {
  it('an enabled user can log in again, and earlier sessions stay revoked', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      const session = await logIn(host, 'ada@example.com', password)
      await run(host, 'user:disable', { email: 'ada@example.com' })
      assert.equal((await post(host, { email: 'ada@example.com', password })).status, 401)
      for (const _twice of [1, 2])
        assert.deepEqual((await run(host, 'user:enable', { email: 'ADA@example.com' })).lines, ['ada@example.com can log in again'])
      const next = await logIn(host, 'ada@example.com', password)
      assert.equal((await signed(host, session, 'GET', '/api/me')).status, 401)
      assert.equal((await signed(host, next, 'GET', '/api/me')).status, 200)
    }))

  it('after a new password only that one works, and every earlier session ends', () =>
    withHost(async (host) => {
      const { password } = await addUser(host, 'ada@example.com')
      const session = await logIn(host, 'ada@example.com', password)
      const generated = { generate: true, 'password-stdin': false }
      const { record } = await run(host, 'user:password', { email: 'ada@example.com' }, generated)
      assert.deepEqual([record.email, record.devicesRemoved], ['ada@example.com', 1])
      assert.equal((await signed(host, session, 'GET', '/api/me')).status, 401)
      assert.equal((await post(host, { email: 'ada@example.com', password })).status, 401)
      assert.equal((await signed(host, await logIn(host, 'ada@example.com', record.password), 'GET', '/api/me')).status, 200)
      assert.ok(!host.logText().includes(record.password))
      await run(host, 'user:disable', { email: 'ada@example.com' })
      const { record: other } = await run(host, 'user:password', { email: 'ada@example.com' }, generated)
      assert.equal((await post(host, { email: 'ada@example.com', password: other.password })).status, 401)
      for (const name of ['user:password', 'user:disable', 'user:enable'])
        await assert.rejects(run(host, name, { email: 'nobody@example.com' }, generated), { code: 'USER_NOT_FOUND' })
    }))

  it('S24: a login gets no session when its user is disabled or gets a new password during the check', () =>
    withHost(async (host) => {
      const { id, password } = await addUser(host, 'ada@example.com')
      for (const [name, options] of [
        ['user:disable', {}],
        ['user:password', { generate: true, 'password-stdin': false }],
      ] as const) {
        const devices = host.service(devicesService)
        const { enroll } = devices
        // The command completes between the password check and the end of the login.
        devices.enroll = async (enrolment) => {
          devices.enroll = enroll
          await run(host, name, { email: 'ada@example.com' }, options)
          return devices.enroll(enrolment)
        }
        assert.deepEqual((await post(host, { email: 'ada@example.com', password })).body, wrong, name)
        assert.deepEqual(await devices.list(id), [])
        await run(host, 'user:enable', { email: 'ada@example.com' })
      }
    }))
})

describePlugin(companions, login, { readme: new URL('./README.md', import.meta.url), env })
