import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { definePlugin } from 'zin'
import { devicesService } from 'zin/plugins/bulletproof'
import { tokensService } from 'zin/plugins/jwt'
import { login } from 'zin/plugins/login'
import { sessions, sessionsService } from 'zin/plugins/sessions'
import { createTestHost, type TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { addUser, companions, env, post, run, type Session, signed } from '../../scripts/testing/login-session.js'
import { websocket } from './index.js'
import { type Client, connect } from './testing/client.js'

const feed = definePlugin({
  name: 'feed',
  version: '1.0.0',
  dependencies: ['websocket'],
  setup: ({ socket }) =>
    socket({ path: '/feed', use: ['auth'], onOpen: (client) => void client.send('hello'), handler: (client) => void client.send('here') }),
})

interface Login extends Session {
  readonly userId: string
  readonly email: string
  readonly refreshToken: string
  readonly cookie: string
  readonly csrf: string
}

describe('a socket whose access ends', () => {
  let host: TestHost
  const clients: Client[] = []
  before(async () => {
    // No ping within the test.
    host = await createTestHost({
      env,
      plugins: [...companions(), sessions(), login(), websocket({ pingMs: 3_600_000 }), feed()],
      listen: true,
    })
  })
  after(async () => {
    for (const { ws } of clients) ws.terminate()
    await host.stop()
  })

  const logIn = async (email: string, password: string, userId: string): Promise<Login> => {
    const { status, body, headers } = await post(host, { email, password })
    assert.equal(status, 200, JSON.stringify(body))
    const cookie = String(headers['set-cookie']).split(';')[0] as string
    return { ...body, email, userId, cookie, csrf: String(headers['x-csrf-token']) }
  }
  const open = async (headers: Record<string, string>): Promise<Client> => {
    const client = await connect(`${host.url}/feed`, { headers })
    clients.push(client)
    assert.equal(await client.next(), 'hello')
    return client
  }
  const byToken = ({ jwt }: Login): Promise<Client> => open({ authorization: `Bearer ${jwt}` })
  const byCookie = ({ cookie }: Login): Promise<Client> => open({ cookie })
  const isEnded = async (client: Client): Promise<void> => {
    let end: { readonly code: number; readonly reason: string } | undefined
    void client.ended.then((found) => (end = found))
    await eventually('the socket is closed', () => end !== undefined)
    assert.deepEqual(end, { code: 1008, reason: 'ACCESS_ENDED' })
  }
  const isOpen = async (client: Client): Promise<void> => {
    client.send('still there?')
    assert.equal(await client.next(), 'here')
  }
  const reuse = async ({ refreshToken }: Login): Promise<void> => {
    for (const status of [200, 401])
      assert.equal((await host.inject({ method: 'POST', path: '/auth/refresh', body: { refreshToken } })).status, status)
  }
  const browser = (method: string, path: string, { cookie, csrf }: Login) =>
    host.inject({ method, path, headers: { cookie, 'x-csrf-token': csrf } })
  const passwords = { generate: true, 'password-stdin': false }

  /** What ends: sockets of this login by its token or cookie, and those of other logins of the user. */
  const ends: Readonly<
    Record<
      string,
      { readonly token: boolean; readonly cookie: boolean; readonly others: boolean; readonly act: (one: Login) => Promise<unknown> }
    >
  > = {
    '/auth/logout': { token: true, cookie: true, others: false, act: (one) => signed(host, one, 'POST', '/auth/logout') },
    '/auth/logout-all': { token: true, cookie: true, others: true, act: (one) => signed(host, one, 'POST', '/auth/logout-all') },
    'a reused refresh token': { token: true, cookie: true, others: false, act: reuse },
    'DELETE /auth/session': { token: false, cookie: true, others: false, act: (one) => browser('DELETE', '/auth/session', one) },
    'DELETE /auth/sessions': { token: true, cookie: true, others: true, act: (one) => browser('DELETE', '/auth/sessions', one) },
    'a removed device': {
      token: false,
      cookie: true,
      others: false,
      act: ({ deviceId }) => host.service(devicesService).remove(deviceId),
    },
    'zin user:disable': { token: true, cookie: true, others: true, act: ({ email }) => run(host, 'user:disable', { email }) },
    'zin user:role': { token: true, cookie: true, others: true, act: ({ email }) => run(host, 'user:role', { email, role: 'admin' }) },
    'zin user:password': { token: true, cookie: true, others: true, act: ({ email }) => run(host, 'user:password', { email }, passwords) },
    'tokens.revoke': {
      token: true,
      cookie: false,
      others: false,
      act: async ({ jwt }) => host.service(tokensService).revoke(host.service(tokensService).verify(jwt)),
    },
    'sessions.endAll': { token: false, cookie: true, others: false, act: ({ userId }) => host.service(sessionsService).endAll(userId) },
  }
  for (const [name, { act, cookie, others, token }] of Object.entries(ends))
    it(`is closed at once by ${name}, and no other`, async () => {
      const email = `${name.replaceAll(/\W+/g, '-')}@example.com`
      const [user, stranger] = [await addUser(host, email), await addUser(host, `not-${email}`)]
      const one = await logIn(email, user.password, user.id)
      const elsewhere = await byToken(await logIn(email, user.password, user.id))
      const another = await byCookie(await logIn(`not-${email}`, stranger.password, stranger.id))
      const [withToken, withCookie] = [await byToken(one), await byCookie(one)]
      await act(one)
      await (token ? isEnded(withToken) : isOpen(withToken))
      await (cookie ? isEnded(withCookie) : isOpen(withCookie))
      await (others ? isEnded(elsewhere) : isOpen(elsewhere))
      await isOpen(another)
    })
})
