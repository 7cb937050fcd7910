import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { definePlugin, jsonBody, type Plugin, type PluginContext, preparedHeaders, type Route, ZinError } from 'zin'
import { createTestHost, type TestHost } from 'zin/testing'

declare module 'zin' {
  interface RouteFields {
    readonly testMark?: number
  }
}

const plugin = (name: string, setup: (ctx: PluginContext) => void) => definePlugin({ name, version: '1.0.0', setup })()

const routes: readonly Route[] = [
  { method: 'GET', path: '/json', summary: 'x', handler: () => ({ ok: true }) },
  { method: 'GET', path: '/alive', summary: 'x', probe: true, handler: () => ({ alive: true }) },
  { method: 'GET', path: '/marked/:id', summary: 'x', testMark: 1, handler: () => ({ ok: true }) },
  { method: 'PUT', path: '/marked/:id', summary: 'x', testMark: 2, handler: () => ({ ok: true }) },
  { method: 'POST', path: '/body', summary: 'x', bodyLimit: 10, body: {}, handler: ({ input }) => ({ got: input.body }) },
]

async function withHost(plugins: readonly Plugin[], test: (host: TestHost) => Promise<void>): Promise<void> {
  const host = await createTestHost({ plugins, routes: [...routes] })
  try {
    await test(host)
  } finally {
    await host.stop()
  }
}

describe('ctx.wrap', () => {
  it('runs for everything, before the checks of the head and ctx.use, in the order of the plugins', async () => {
    const ran: string[] = []
    const first = plugin('first', (ctx) => {
      ctx.use((request, next) => {
        ran.push('use')
        return request.path === '/denied' ? request.throw(403) : next()
      })
    })
    const wrapper = (name: string) =>
      plugin(name, (ctx) => {
        ctx.wrap((request, next) => {
          ran.push(name)
          request.set('x-wrapped', name)
          return next()
        })
      })
    await withHost([first, wrapper('second'), wrapper('third')], async (host) => {
      for (const [path, status, order] of [
        ['/json', 200, ['second', 'third', 'use']],
        ['/alive', 200, ['second', 'third']],
        ['/unknown', 404, ['second', 'third', 'use']],
        ['/denied', 403, ['second', 'third', 'use']],
        ['/a//%2e', 400, ['second', 'third']],
      ] as const) {
        ran.length = 0
        const answer = await host.inject({ path })
        assert.deepEqual([answer.status, answer.headers['x-wrapped'], [...ran]], [status, 'third', order], path)
      }
      await host.disable('third')
      assert.equal((await host.inject({ path: '/json' })).headers['x-wrapped'], 'second')
    })
  })

  it('fails the request if it throws', async () => {
    const broken = plugin('broken', (ctx) => {
      ctx.wrap(() => {
        throw new ZinError('NO', 'no', { status: 418 })
      })
    })
    await withHost([broken], async (host) => assert.equal((await host.inject({ path: '/json' })).status, 418))
  })
})

describe('preparedHeaders', () => {
  it('are the same for every response, and can be changed for one', async () => {
    const setHeaders = preparedHeaders({ 'x-own': 'a', 'content-security-policy': "default-src 'none'", vary: 'Accept' })
    const wrapping = plugin('wrapping', (ctx) => {
      ctx.wrap((request, next) => {
        setHeaders(request)
        if (request.path !== '/alive') return next()
        request.set('X-Own', 'b')
        request.vary('Origin')
        request.vary('accept')
        return next()
      })
    })
    await withHost([wrapping], async (host) => {
      const seen = async (path: string) => {
        const { headers } = await host.inject({ path })
        return [headers['x-own'], headers['content-security-policy'], headers.vary]
      }
      for (const path of ['/json', '/unknown', '/json']) assert.deepEqual(await seen(path), ['a', "default-src 'none'", 'Accept'])
      assert.deepEqual(await seen('/alive'), ['b', "default-src 'none'", 'Accept, Origin'])
      assert.deepEqual(await seen('/json'), ['a', "default-src 'none'", 'Accept'])
    })
  })

  it('must be valid', () => {
    assert.throws(() => preparedHeaders({ 'x own': 'a' }), TypeError)
    assert.throws(() => preparedHeaders({ 'x-own': 'a\r\nb: c' }), TypeError)
  })
})

describe('ctx.fallback', () => {
  it('handles paths that no route has, in the order of the plugins, until one answers', async () => {
    const asked: string[] = []
    const fallback = (name: string, own: string) =>
      plugin(name, (ctx) => {
        ctx.fallback(async (request) => {
          asked.push(name)
          if (request.path !== own) return false
          request.body = { from: name }
          return true
        })
      })
    await withHost([fallback('one', '/one'), fallback('two', '/two')], async (host) => {
      assert.equal((await host.inject({ path: '/one' })).text, '{"from":"one"}')
      assert.equal((await host.inject({ path: '/two', method: 'POST' })).text, '{"from":"two"}')
      assert.deepEqual(asked.splice(0), ['one', 'one', 'two'])
      const { status, text } = await host.inject({ path: '/three' })
      assert.deepEqual([status, JSON.parse(text).code], [404, 'NOT_FOUND'])
      asked.length = 0
      assert.equal((await host.inject({ path: '/json', method: 'DELETE' })).status, 405)
      assert.equal((await host.inject({ path: '/json' })).status, 200)
      assert.deepEqual(asked, [])
      await host.disable('one')
      assert.equal((await host.inject({ path: '/one' })).status, 404)
    })
  })
})

describe('ctx.routeField and ctx.routeOf', () => {
  const marks = (seen: unknown[]) =>
    plugin('marks', (ctx) => {
      ctx.routeField('testMark', (value) => (typeof value === 'number' ? undefined : 'must be a number'))
      ctx.use((request, next) => {
        seen.push([ctx.routeOf(request)?.testMark, ctx.routeOf(request, 'PUT')?.testMark])
        return next()
      })
    })

  it('give a plugin the field of the route before the match, also of another method', async () => {
    const seen: unknown[] = []
    await withHost([marks(seen)], async (host) => {
      for (const path of ['/marked/7', '/json', '/unknown', '/marked/%zz']) await host.inject({ path })
    })
    assert.deepEqual(seen, [
      [1, 2],
      [undefined, undefined],
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  it('stop the boot for a wrong value, and for a field that two plugins read', async () => {
    const wrong: Route = { method: 'GET', path: '/x', summary: 'x', testMark: 'one' as never, handler: () => 1 }
    await assert.rejects(createTestHost({ plugins: [marks([])], routes: [wrong] }), /GET \/x of plugin .*: its "testMark" must be a number/)
    const again = plugin('again', (ctx) => ctx.routeField('testMark', () => undefined))
    await assert.rejects(
      createTestHost({ plugins: [marks([]), again] }),
      /"again" reads the field "testMark" of routes, which plugin "marks"/,
    )
  })
})

describe('ctx.bodyDecoder', () => {
  const doubled = plugin('doubled', (ctx) => {
    ctx.bodyDecoder('half', async (bytes, limit) => {
      if (bytes.includes('!')) throw new ZinError('ODD', 'odd', { status: 400 })
      return bytes.length * 2 > limit ? undefined : Buffer.concat([bytes, bytes])
    })
  })
  const post = (host: TestHost, body: string, coding: string) =>
    host.inject({ method: 'POST', path: '/body', body, headers: { 'content-type': 'application/json', 'content-encoding': coding } })

  it('decodes bodies up to the limit of the route, and refuses others with 413, its own error or 415', async () => {
    await withHost([doubled], async (host) => {
      assert.equal((await post(host, '11', 'Half')).text, '{"got":1111}')
      for (const [body, coding, status, code] of [
        ['12345', 'half', 200, undefined],
        ['123456', 'half', 413, 'PAYLOAD_TOO_LARGE'],
        ['!', 'half', 400, 'ODD'],
        ['{', 'half', 400, 'INVALID_JSON'],
        ['1', 'quarter', 415, 'UNSUPPORTED_CONTENT_ENCODING'],
        ['1', 'half, half', 415, 'UNSUPPORTED_CONTENT_ENCODING'],
      ] as const) {
        const answer = await post(host, body, coding)
        assert.deepEqual([answer.status, JSON.parse(answer.text).code], [status, code], `${body} ${coding}`)
        if (status === 415) assert.equal(answer.headers['accept-encoding'], 'half, identity')
      }
      await host.disable('doubled')
      assert.equal((await post(host, '11', 'half')).status, 415)
    })
  })
})

describe('jsonBody', () => {
  it('is the text that is sent, and undefined for other bodies', async () => {
    const seen: unknown[] = []
    const watcher = plugin('watcher', (ctx) => {
      ctx.use(async (request, next) => {
        await next()
        seen.push(jsonBody(request))
      })
    })
    const more: readonly Route[] = [
      { method: 'GET', path: '/text', summary: 'x', handler: () => 'text' },
      { method: 'GET', path: '/nothing', summary: 'x', handler: () => undefined },
      {
        method: 'GET',
        path: '/filtered',
        summary: 'x',
        serialize: 'schema',
        response: { 200: { type: 'object', properties: { shown: { type: 'boolean' } } } },
        handler: () => ({ shown: true, secret: 'x' }),
      },
    ]
    const host = await createTestHost({ plugins: [watcher], routes: [...more] })
    try {
      for (const { path } of more) await host.inject({ path })
    } finally {
      await host.stop()
    }
    assert.deepEqual(seen, [undefined, undefined, '{"shown":true}'])
  })
})
