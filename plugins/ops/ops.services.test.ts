import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt, type Tokens, tokensService } from 'zin/plugins/jwt'
import { kv, kvService } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { createTestHost, fakeClock } from 'zin/testing'

interface Flushed {
  readonly tokens: Tokens
  status(token: string): Promise<number>
  /** Flushes Redis a second later. */
  flush(): Promise<void>
}

async function withApp(test: (app: Flushed) => Promise<void>): Promise<void> {
  const clock = fakeClock()
  const host = await createTestHost({
    clock,
    env: {
      APP_KEY: 'app-key-0123456789abcdefghijklmnop',
      OPS_AUTH: 'required',
      REDIS_URL: process.env.TEST_REDIS_URL ?? 'TEST_REDIS_URL is not set',
    },
    plugins: [kv({ prefix: `test-${randomUUID()}` }), jwt(), bulletproof({ deviceStore: 'kv' }), ops()],
    routes: [{ method: 'GET', path: '/api/workers', summary: 'Workers', use: ['ops'], handler: () => ({}) }],
  })
  try {
    await test({
      tokens: host.service(tokensService),
      status: async (token) => (await host.inject({ path: '/api/workers', headers: { authorization: `Bearer ${token}` } })).status,
      async flush() {
        clock.advance(1_000)
        await host.service(kvService).redis?.flushdb()
      },
    })
  } finally {
    await host.stop()
  }
}

describe('ops routes when Redis is flushed', () => {
  it('refuse every earlier token, revoked or not, and accept the first one issued afterwards', () =>
    withApp(async ({ tokens, status, flush }) => {
      const [revoked, other] = [await tokens.issue({ sub: '1', role: 'admin' }), await tokens.issue({ sub: '2', role: 'admin' })]
      await tokens.revoke(revoked.claims)
      assert.deepEqual([await status(revoked.token), await status(other.token)], [401, 200])
      await flush()
      const { token } = await tokens.issue({ sub: '2', role: 'admin' })
      assert.deepEqual([await status(revoked.token), await status(other.token), await status(token)], [401, 401, 200])
    }))

  it('refuse them also when the flush is noticed by a request', () =>
    withApp(async ({ tokens, status, flush }) => {
      const { token, claims } = await tokens.issue({ sub: '1', role: 'admin' })
      await tokens.revoke(claims)
      await flush()
      assert.deepEqual([await status(token), await status(token)], [401, 401])
      assert.equal(await status((await tokens.issue({ sub: '1', role: 'admin' })).token), 200)
    }))
})
