import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { definePlugin, EventStreams } from 'zin'
import { bulletproof, devicesService } from 'zin/plugins/bulletproof'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { ops } from 'zin/plugins/ops'
import { createHeaders } from 'zin/signer'
import { createTestHost, type TestHost } from 'zin/testing'

const paths = { ops: '/ops-events', signed: '/signed-events', token: '/token-events' } as const

const events = definePlugin({
  name: 'events',
  version: '1.0.0',
  setup(ctx) {
    const streams = new EventStreams()
    ctx.hooks.on('onClose', () => streams.closeAll())
    for (const [path, use] of [
      [paths.ops, ['ops']],
      [paths.signed, ['auth', 'bulletproof']],
      [paths.token, ['auth']],
    ] as const)
      ctx.route({ method: 'GET', path, summary: 'Events', use, handler: (request) => void streams.open(request, () => undefined) })
  },
})

/** Credentials of an admin, and ways to end them. */
interface Session {
  readonly headers: Readonly<Record<string, string>>
  revoke(): Promise<void>
  disable(): Promise<void>
  removeDevice(): Promise<unknown>
}

async function sessionAt(host: TestHost, path: string, expiresInSeconds?: number): Promise<Session> {
  const [tokens, devices] = [host.service(tokensService), host.service(devicesService)]
  const signs = path !== paths.token
  const { device, secret } = await devices.enroll({ userId: '1' })
  const { deviceId } = device
  const claims = { sub: '1', role: 'admin', ...(signs && { deviceId }) }
  const issued = await tokens.issue(claims, expiresInSeconds === undefined ? {} : { expiresInSeconds })
  const signature = signs ? await createHeaders({ method: 'GET', url: path, keyId: deviceId, secret }) : {}
  return {
    headers: { authorization: `Bearer ${issued.token}`, ...signature },
    revoke: () => tokens.revoke(issued.claims),
    disable: () => tokens.revokeUser('1'),
    removeDevice: () => devices.remove(deviceId),
  }
}

/** A listening app with an event stream, and a clock that the test advances. */
async function withStream(
  t: TestContext,
  path: string,
  test: (response: IncomingMessage, session: Session, tick: (ms: number) => void) => Promise<void>,
  expiresInSeconds?: number,
): Promise<void> {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: Date.now() })
  const env = { APP_KEY: 'app-key-0123456789abcdefghijklmnop', OPS_AUTH: 'required' }
  const host = await createTestHost({ plugins: [jwt(), bulletproof(), ops(), events()], env, listen: true })
  try {
    t.mock.timers.tick(1)
    const session = await sessionAt(host, path, expiresInSeconds)
    const [response] = (await once(get(`${host.url}${path}`, { headers: session.headers }), 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    await test(response, session, (ms) => t.mock.timers.tick(ms))
  } finally {
    t.mock.timers.reset()
    await host.stop()
  }
}

/** The text of the next chunk. */
async function heard(response: IncomingMessage): Promise<string> {
  const [chunk] = (await once(response, 'data')) as [Buffer]
  return chunk.toString()
}

describe('an event stream', () => {
  for (const path of Object.values(paths)) {
    const endings = path === paths.token ? (['revoke', 'disable'] as const) : (['revoke', 'disable', 'removeDevice'] as const)
    for (const ending of endings) {
      it(`on ${path} continues while its credentials are valid, and ends after ${ending}`, (t) =>
        withStream(t, path, async (response, session, tick) => {
          assert.match(await heard(response), /listening/)
          for (let beat = 0; beat < 3; beat += 1) {
            tick(15_000)
            assert.match(await heard(response), /keep-alive/)
          }
          await session[ending]()
          const ended = once(response, 'end')
          response.resume()
          tick(15_000)
          await ended
        }))
    }

    it(`on ${path} ends when its token expires`, (t) =>
      withStream(
        t,
        path,
        async (response, _session, tick) => {
          assert.match(await heard(response), /listening/)
          const ended = once(response, 'end')
          response.resume()
          tick(5_000)
          await ended
        },
        5,
      ))
  }
})
