import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { createTestHost, type TestHost } from 'zin/testing'
import { addUser, env, post, type Session, signed } from '../../scripts/testing/login-session.js'
import { type Server, type Services, startServices } from '../../scripts/testing/own-servers.js'
import { login } from './index.js'

type Answers = Readonly<Record<string, Awaited<ReturnType<TestHost['inject']>>>>

describe('with a store whose process is frozen', () => {
  let services: Services
  let host: TestHost
  let password: string
  const email = 'ada@example.com'
  before(async () => {
    services = await startServices()
    host = await createTestHost({
      plugins: [database(), kv(), jwt(), bulletproof(), login(), ops()],
      env: {
        ...env,
        REDIS_URL: services.redisUrl,
        DB_CONNECTION: 'rdb',
        DB_HOST: '127.0.0.1',
        DB_PORT: String(services.mysqlPort),
        DB_DATABASE: 'zin',
        DB_USERNAME: 'zin',
        DB_PASSWORD: 'zin',
        OPS_AUTH: 'required',
      },
      routes: [
        { method: 'GET', path: '/bearer', summary: 'By token', use: ['auth'], handler: () => ({}) },
        { method: 'GET', path: '/operate', summary: 'By role', use: ['ops'], handler: () => ({}) },
      ],
    })
    password = (await addUser(host, email)).password
  })
  after(async () => {
    await host.stop()
    await services.stop()
  })

  const session = async (): Promise<Session> => {
    const { body, status } = await post(host, { email, password })
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  /** Sends all requests concurrently while a server is frozen. */
  const answersWhile = async (server: Server, asked: Readonly<Record<string, () => ReturnType<TestHost['inject']>>>): Promise<Answers> => {
    services.freeze(server)
    try {
      return Object.fromEntries(await Promise.all(Object.entries(asked).map(async ([name, ask]) => [name, await ask()])))
    } finally {
      services.thaw(server)
    }
  }
  const assertUnavailable = (answers: Answers): void => {
    for (const [name, { status, body, headers }] of Object.entries(answers)) {
      assert.deepEqual([name, status, body.code], [name, 503, 'AUTH_STORE_UNAVAILABLE'])
      assert.ok(Number(headers['retry-after']) > 0, name)
    }
  }

  it('every route of login, devices and operators responds 503 in bounded time, and works again afterwards', async () => {
    const own = { seen: await session(), fresh: await session(), leaving: await session(), everywhere: await session() }
    for (const known of [own.seen, own.leaving, own.everywhere]) assert.equal((await signed(host, known, 'GET', '/api/me')).status, 200)
    const { token } = await host.service(tokensService).issue({ sub: '1', role: 'admin' })
    const bearer = { authorization: `Bearer ${token}` }
    const ask = (path: string) => () => host.inject({ path, headers: bearer })
    assert.deepEqual([(await ask('/bearer')()).status, (await ask('/operate')()).status], [200, 200])

    const stores = {
      login: () => post(host, { email, password }),
      devices: () => signed(host, own.seen, 'GET', '/auth/devices'),
      'remove a device': () => signed(host, own.seen, 'DELETE', `/auth/devices/${own.fresh.deviceId}`),
      logout: () => signed(host, own.leaving, 'POST', '/auth/logout'),
      'logout everywhere': () => signed(host, own.everywhere, 'POST', '/auth/logout-all'),
      'a device that was not seen yet': () => signed(host, own.fresh, 'GET', '/api/me'),
    }
    assertUnavailable(
      await answersWhile('redis', {
        ...stores,
        me: () => signed(host, own.seen, 'GET', '/api/me'),
        token: ask('/bearer'),
        operator: ask('/operate'),
      }),
    )
    assertUnavailable(await answersWhile('mysql', stores))
    assert.equal((await signed(host, await session(), 'GET', '/api/me')).status, 200)
  })
})
