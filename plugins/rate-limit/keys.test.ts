import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineMiddleware, definePlugin, type RouteMiddleware, type SecurityRequirement } from 'zin'
import { createTestHost } from 'zin/testing'
import { rateLimit } from './index.js'
import { statuses } from './testing/app.js'

const pass = (key: string, security?: readonly SecurityRequirement[]) =>
  defineMiddleware({ key, ...(security && { security }), handler: (_ctx, next) => next() }) as RouteMiddleware

const apiKey = { type: 'apiKey', in: 'header', name: 'X-Api-Key' } as const
const bearer = { type: 'http', scheme: 'bearer' } as const

/** What runs before the limit, and whether a key counts then. */
const befores: Readonly<Record<string, { readonly use: readonly RouteMiddleware[]; readonly counts: boolean }>> = {
  nothing: { use: [], counts: false },
  'a middleware that is no guard': { use: [pass('plain')], counts: false },
  'a guard of another credential': { use: [pass('bearer', [{ bearer }])], counts: false },
  'a guard that accepts another credential instead': { use: [pass('either', [{ bearer }, { apiKey }])], counts: false },
  'a guard of a key in a cookie': { use: [pass('cookie', [{ cookie: { ...apiKey, in: 'cookie' } }])], counts: false },
  'a guard of another header': { use: [pass('other', [{ otherKey: { ...apiKey, name: 'x-other' } }])], counts: false },
  'a guard of the key': { use: [pass('keyed', [{ apiKey }])], counts: true },
  'a guard of the key beside others': { use: [pass('plain'), pass('keyed', [{ apiKey }]), pass('bearer', [{ bearer }])], counts: true },
  'a guard of the key and another credential together': { use: [pass('both', [{ apiKey, bearer }])], counts: true },
}

const app = (use: readonly (string | RouteMiddleware)[], options: Parameters<typeof rateLimit>[0]) =>
  createTestHost({
    plugins: [
      rateLimit(options),
      definePlugin({
        name: 'shop',
        version: '1.0.0',
        setup: ({ route }) => route({ method: 'GET', path: '/a', summary: 'For tests', use, handler: () => ({ ok: true }) }),
      })(),
    ],
  })

describe('a limit by key', () => {
  const sent = (key: string, from: string) => ({ path: '/a', headers: { 'x-api-key': key }, from })

  for (const [before, { use, counts }] of Object.entries(befores)) {
    it(`of all routes counts ${counts ? 'the key' : 'the address'} after ${before}`, async () => {
      const host = await app(use, { limit: 1, by: 'key' })
      try {
        assert.deepEqual(await statuses(host, 2, sent('one', '192.0.2.1')), [200, 429])
        assert.deepEqual(await statuses(host, 1, sent('two', '192.0.2.1')), [counts ? 200 : 429])
        assert.deepEqual(await statuses(host, 1, sent('one', '192.0.2.2')), [counts ? 429 : 200])
      } finally {
        await host.stop()
      }
    })

    it(`of one route ${counts ? 'counts the key' : 'stops the boot'} after ${before}`, async () => {
      const booting = app([...use, 'rateLimit:own'], { limits: { own: { limit: 1, by: 'key' } } })
      if (counts) {
        const host = await booting
        assert.deepEqual(await statuses(host, 2, sent('one', '192.0.2.1')), [200, 429])
        assert.deepEqual(await statuses(host, 1, sent('two', '192.0.2.1')), [200])
        await host.stop()
        return
      }
      await assert.rejects(booting, (error: Error) => {
        assert.match(
          error.message,
          /GET \/a of plugin "shop" lists "rateLimit:own", which is by key, and no guard before it requires the key in x-api-key/,
        )
        assert.match(error.message, /security: \[\{ key: \{ type: 'apiKey', in: 'header', name: 'x-api-key' \} \}\]/)
        return true
      })
    })
  }

  it('of one route stops the boot when the guard comes after it', () =>
    assert.rejects(app(['rateLimit:own', pass('keyed', [{ apiKey }])], { limits: { own: { limit: 1, by: 'key' } } }), /no guard before it/))

  it('in the header Authorization counts after a guard of it', async () => {
    const host = await app([pass('bearer', [{ bearer }]), 'rateLimit:own'], {
      keyHeader: 'authorization',
      limits: { own: { limit: 1, by: 'key' } },
    })
    try {
      const token = (text: string) => ({ path: '/a', headers: { authorization: `Bearer ${text}` } })
      assert.deepEqual(await statuses(host, 2, token('one')), [200, 429])
      assert.deepEqual(await statuses(host, 1, token('two')), [200])
    } finally {
      await host.stop()
    }
  })
})
