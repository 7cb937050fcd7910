import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineRoute, type Route } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { webConsole } from 'zin/plugins/console'
import { cors } from 'zin/plugins/cors'
import { database } from 'zin/plugins/database'
import { health } from 'zin/plugins/health'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { responseGuards, responseRoutes, responses } from '../../scripts/testing/every-response.js'
import { securityHeaders } from './index.js'

const policy = "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'"

const expected: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
}

const routes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/own',
    summary: 'x',
    handler: (ctx) => {
      ctx.set('Content-Security-Policy', "default-src 'self'")
      ctx.set('x-frame-options', 'SAMEORIGIN')
      return { ok: true }
    },
  }),
]

const headersOf = ({ headers }: Response): Readonly<Record<string, string | null>> =>
  Object.fromEntries(Object.keys(expected).map((name) => [name, headers.get(name)]))

describe('the plugin security-headers', () => {
  let host: TestHost
  before(async () => {
    host = await createTestHost({
      listen: true,
      plugins: [
        securityHeaders(),
        cors({ origins: 'https://shop.example' }),
        responseGuards(),
        health(),
        database(),
        kv(),
        cluster(),
        queues(),
        ops(),
        queueMonitor(),
        webConsole(),
      ],
      routes: [...responseRoutes, ...routes],
      env: { APP_KEY: 'a key that is long enough for tests only' },
    })
  })
  after(() => host.stop())

  const more: typeof responses = [
    ['OPTIONS', '/json', 204, { method: 'OPTIONS' }],
    [
      'a preflight',
      '/json',
      204,
      { method: 'OPTIONS', headers: { origin: 'https://shop.example', 'access-control-request-method': 'GET' } },
    ],
    ['JSON for another origin', '/json', 200, { headers: { origin: 'https://shop.example' } }],
  ]
  for (const [what, path, status, init] of [...responses, ...more]) {
    it(`has all headers on ${what}`, async () => {
      const response = await fetch(host.url + path, { redirect: 'manual', ...init })
      assert.equal(response.status, status)
      assert.deepEqual(headersOf(response), expected)
      assert.ok(response.headers.get('x-request-id'))
      await response.arrayBuffer()
    })
  }

  it('leaves what a handler sets', async () => {
    const response = await fetch(`${host.url}/own`)
    const own = { 'content-security-policy': "default-src 'self'", 'x-frame-options': 'SAMEORIGIN' }
    assert.deepEqual(headersOf(response), { ...expected, ...own })
    // The values that all responses share are as before.
    assert.deepEqual(headersOf(await fetch(`${host.url}/json`)), expected)
  })

  for (const [path, own] of [
    ['/docs', /^default-src 'none'; style-src 'unsafe-inline'; /],
    ['/console', /script-src 'self'/],
  ] as const) {
    it(`leaves the policy of ${path}`, async () => {
      const { headers } = await fetch(host.url + path)
      assert.match(headers.get('content-security-policy') ?? '', own)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
    })
  }
})

describe('the options of security-headers', () => {
  const one = async (options: Parameters<typeof securityHeaders>[0]): Promise<Readonly<Record<string, string | string[] | undefined>>> => {
    const host = await createTestHost({ plugins: [securityHeaders(options)], routes: [...routes] })
    try {
      return (await host.inject({ path: '/json' })).headers as never
    } finally {
      await host.stop()
    }
  }

  it('change a header', async () => {
    const headers = await one({
      contentSecurityPolicy: { 'default-src': ["'self'"], 'upgrade-insecure-requests': [] },
      strictTransportSecurity: { maxAgeSeconds: 60, preload: true },
      frameOptions: 'SAMEORIGIN',
      referrerPolicy: 'same-origin',
      crossOriginResourcePolicy: 'cross-origin',
      crossOriginOpenerPolicy: 'same-origin-allow-popups',
    })
    assert.equal(headers['content-security-policy'], "default-src 'self';upgrade-insecure-requests")
    assert.equal(headers['strict-transport-security'], 'max-age=60; preload')
    assert.equal(headers['x-frame-options'], 'SAMEORIGIN')
    assert.equal(headers['referrer-policy'], 'same-origin')
    assert.equal(headers['cross-origin-resource-policy'], 'cross-origin')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin-allow-popups')
  })

  for (const [option, header] of [
    ['contentSecurityPolicy', 'content-security-policy'],
    ['strictTransportSecurity', 'strict-transport-security'],
    ['frameOptions', 'x-frame-options'],
    ['referrerPolicy', 'referrer-policy'],
    ['crossOriginResourcePolicy', 'cross-origin-resource-policy'],
    ['crossOriginOpenerPolicy', 'cross-origin-opener-policy'],
  ] as const) {
    it(`leave out ${header} with ${option}: false`, async () => {
      const headers = await one({ [option]: false })
      const left = Object.keys(expected).filter((name) => headers[name] === undefined)
      assert.deepEqual(left, [header])
    })
  }

  const wrong: readonly (readonly [options: object, problem: RegExp])[] = [
    [{ contentSecurityPolicy: { 'default-src': ['self'] } }, /security-headers: .*"self" should be quoted/],
    [{ contentSecurityPolicy: { 'img-src': ["'self'"] } }, /security-headers: .*needs a default-src/],
    [{ contentSecurityPolicy: { 'default-src': ["'self'; script-src *"] } }, /security-headers: .*invalid directive value/],
    [{ contentSecurityPolicy: { 'default-src': ["'self'\r\nx: y"] } }, /security-headers: .*Invalid character/],
    [{ pages: { 'default src': ["'self'"] } }, /security-headers: .*invalid directive name/],
    [{ frameOptions: 'ALLOW-FROM https://a.example' }, /frameOptions/],
    [{ strictTransportSecurity: { maxAge: 1 } }, /strictTransportSecurity/],
  ]
  for (const [options, problem] of wrong)
    it(`${JSON.stringify(options)} stops the boot`, () =>
      assert.rejects(createTestHost({ plugins: [securityHeaders(options as never)] }), problem))
})
