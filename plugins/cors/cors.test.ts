import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { defineRoute, type Route } from 'zin'
import { health } from 'zin/plugins/health'
import { createTestHost, type TestHost } from 'zin/testing'
import { responseGuards, responseRoutes, responses } from '../../scripts/testing/every-response.js'
import { cors } from './index.js'

const shop = 'https://shop.example'
const partner = 'https://api.partner.example'

/** Routes with their own policy. */
const routes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/partner',
    summary: 'x',
    cors: { origins: 'https://*.partner.example', credentials: true },
    handler: () => ({ ok: true }),
  }),
  defineRoute({ method: 'GET', path: '/public', summary: 'x', cors: { origins: '*' }, handler: () => ({ ok: true }) }),
  defineRoute({ method: 'POST', path: '/mixed', summary: 'x', cors: { origins: partner }, handler: () => ({ ok: true }) }),
  defineRoute({ method: 'GET', path: '/mixed', summary: 'x', handler: () => ({ ok: true }) }),
  defineRoute({ method: 'GET', path: '/private', summary: 'x', cors: false, handler: () => ({ ok: true }) }),
]

describe('the plugin cors', () => {
  let host: TestHost
  before(async () => {
    host = await createTestHost({
      listen: true,
      plugins: [responseGuards(), health(), cors({ origins: [shop], credentials: true, exposedHeaders: ['retry-after'] })],
      routes: [...responseRoutes, ...routes],
    })
  })
  after(() => host.stop())

  const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET', body?: string) =>
    fetch(`${host.url}${path}`, {
      method,
      headers: { origin: shop, ...headers },
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    })

  const more: typeof responses = [
    ['an invalid target', '/a/..%2e/b\\', 400],
    ['the routes as a page', '/docs', 200],
  ]
  for (const [what, path, status, { headers, method, body } = {}] of [...responses, ...more]) {
    it(`has its headers on ${what}`, async () => {
      const response = path.includes('\\') ? await raw(path) : await get(path, headers, method, body)
      assert.equal(response.status, status)
      assert.equal(response.headers.get('access-control-allow-origin'), shop)
      assert.equal(response.headers.get('access-control-allow-credentials'), 'true')
      assert.equal(response.headers.get('access-control-expose-headers'), 'Date,x-request-id,retry-after')
      assert.match(response.headers.get('vary') ?? '', /\bOrigin\b/)
      assert.ok(response.headers.get('date'))
      assert.ok(response.headers.get('x-request-id'))
      await response.arrayBuffer()
    })
  }

  /** Sends a target that fetch would rewrite. */
  async function raw(target: string): Promise<Response> {
    const { port } = new URL(host.url)
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect', { signal: AbortSignal.timeout(10_000) })
    socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nOrigin: ${shop}\r\nConnection: close\r\n\r\n`)
    const text = (await socket.toArray()).join('')
    const [head = ''] = text.split('\r\n\r\n')
    const [line = '', ...lines] = head.split('\r\n')
    const headers = lines.map((one): [string, string] => [one.slice(0, one.indexOf(':')), one.slice(one.indexOf(':') + 1).trim()])
    return new Response(null, { status: Number(line.split(' ')[1]), headers })
  }

  it('keeps what a response varies by', async () => {
    assert.equal((await get('/varied')).headers.get('vary'), 'Origin, Accept-Language')
  })

  it('names the origin in Vary for a request without one, because a cache keeps it for others', async () => {
    const response = await fetch(`${host.url}/json`)
    assert.equal(response.headers.get('vary'), 'Origin')
    assert.equal(response.headers.get('access-control-allow-origin'), null)
  })

  const preflight = (path: string, method: string, headers: Readonly<Record<string, string>> = {}) =>
    get(path, { 'access-control-request-method': method, ...headers }, 'OPTIONS')

  it('answers a preflight before guards and before the middleware of other plugins', async () => {
    const names = 'authorization,content-type,x-sig-device-id,x-sig-key-id,x-sig-nonce,x-sig-signature,x-sig-timestamp'
    const response = await preflight('/guarded', 'PUT', { 'access-control-request-headers': names, 'x-closed': 'yes' })
    assert.equal(response.status, 204)
    assert.equal(response.headers.get('access-control-allow-origin'), shop)
    assert.equal(response.headers.get('access-control-allow-credentials'), 'true')
    assert.equal(response.headers.get('access-control-allow-headers'), names)
    assert.match(response.headers.get('access-control-allow-methods') ?? '', /\bPUT\b/)
    assert.equal(response.headers.get('access-control-max-age'), '600')
    assert.match(response.headers.get('vary') ?? '', /Access-Control-Request-Headers/)
  })

  it('answers a preflight for a path that no route has, so that the page sees the 404', async () => {
    assert.equal((await preflight('/unknown', 'DELETE')).headers.get('access-control-allow-origin'), shop)
  })

  it('leaves OPTIONS that is no preflight to the app', async () => {
    const response = await get('/json', {}, 'OPTIONS')
    assert.equal(response.status, 204)
    assert.equal(response.headers.get('allow'), 'GET, HEAD, OPTIONS')
    assert.equal(response.headers.get('access-control-allow-methods'), null)
  })

  it('checks the head of a preflight with a body as that of any other request', async () => {
    const { port } = new URL(host.url)
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect', { signal: AbortSignal.timeout(10_000) })
    const head = [
      `Host: localhost:${port}`,
      `Origin: ${shop}`,
      'Access-Control-Request-Method: GET',
      'Content-Type: a/b',
      'Content-Type: c/d',
    ]
    socket.write(`OPTIONS /json HTTP/1.1\r\n${head.join('\r\n')}\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx`)
    assert.match((await socket.toArray()).join(''), /^HTTP\/1.1 400 /)
  })

  const origins: readonly (readonly [origin: string, path: string, allowed: string | null, credentials: string | null, method?: string])[] =
    [
      [shop, '/json', shop, 'true'],
      ['https://evil.example', '/json', null, null],
      ['null', '/json', null, null],
      [`${shop}.evil.example`, '/json', null, null],
      [shop, '/partner', null, null],
      [partner, '/partner', partner, 'true'],
      [partner, '/json', null, null],
      ['https://any.example', '/public', '*', null],
      ['null', '/public', '*', null],
      [shop, '/private', null, null],
      [partner, '/mixed', null, null],
      [shop, '/mixed', shop, 'true'],
      [partner, '/mixed', partner, null, 'POST'],
      [shop, '/mixed', null, null, 'POST'],
    ]
  for (const [origin, path, allowed, credentials, method = 'GET'] of origins) {
    it(`${allowed === null ? 'hides' : 'shows'} ${method} ${path} ${allowed === null ? 'from' : 'to'} ${origin}, and says so in the preflight`, async () => {
      const response = await get(path, { origin }, method)
      const asked = await preflight(path, method, { origin })
      for (const { headers } of [response, asked]) {
        assert.equal(headers.get('access-control-allow-origin'), allowed)
        assert.equal(headers.get('access-control-allow-credentials'), credentials)
      }
      assert.equal(response.status, 200)
    })
  }

  it('names a refused origin in the log, once', async () => {
    const line = /pages of https:\/\/first\.example may not call this app; if they should, add it to cors/
    for (const _time of [1, 2]) await get('/json', { origin: 'https://first.example' })
    assert.equal(host.logs.filter(({ msg }) => line.test(String(msg))).length, 1)
  })
})

describe('an invalid configuration stops the boot', () => {
  const app = (plugin: ReturnType<typeof cors>, own: readonly Route[] = []) => createTestHost({ plugins: [plugin], routes: [...own] })
  const get = (field: unknown): Route => ({ method: 'GET', path: '/x', summary: 'x', cors: field as never, handler: () => 1 })

  it('of the plugin', async () => {
    await assert.rejects(app(cors({ origins: ['https://shop.example/'] })), /cors: has the origin "https:\/\/shop.example\/": write scheme/)
    await assert.rejects(app(cors({ origins: '*', credentials: true })), /cors: has "credentials" with the origin "\*"/)
  })

  const fields: readonly (readonly [field: unknown, problem: RegExp])[] = [
    [true, /GET \/x .*its "cors" must be false or \{ origins, credentials \}/],
    [{}, /its "cors" must have "origins"/],
    [{ origins: [1] }, /its "cors" must have "origins"/],
    [{ origins: '*', credential: true }, /its "cors" has the unknown field "credential"/],
    [{ origins: '*', credentials: 'yes' }, /its "cors" has "credentials" that is neither/],
    [{ origins: '*', credentials: true }, /its "cors" has "credentials" with the origin/],
    [{ origins: 'shop.example' }, /its "cors" has the origin "shop.example"/],
  ]
  for (const [field, problem] of fields)
    it(`of a route: ${JSON.stringify(field)}`, () => assert.rejects(app(cors(), [get(field)]), problem))
})
