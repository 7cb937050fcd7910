import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Type } from 'typebox'
import { docsRoutes } from './docs-routes.js'
import { makeApp, route } from './test-support.js'

const hello = route({ method: 'GET', path: '/hello', handler: () => ({ hello: true }) })

test('the OpenAPI document describes what routes declare', async (t) => {
  const { app } = makeApp(t)
  for (const entry of docsRoutes(app)) app.addRoute('core', entry)
  app.addMiddleware('jwt', { key: 'auth', handler: (_ctx, next) => next() })
  app.addRoute('workers', {
    method: 'PUT',
    path: '/api/workers/:name',
    summary: 'Change <b>one</b>',
    use: ['auth'],
    params: Type.Object({ name: Type.String({ minLength: 3 }) }),
    query: Type.Object({ wait: Type.Optional(Type.Integer({ description: 'ms & more' })) }),
    body: Type.Object({ concurrency: Type.Integer() }),
    response: { 202: Type.Object({ ok: Type.Boolean() }) },
    handler: () => ({}),
  })
  app.addRoute('workers', route({ method: 'GET', path: '/secret', hidden: true, handler: () => ({}) }))
  app.compile()
  const { body } = await app.inject({ path: '/openapi.json' })
  assert.equal(body.openapi, '3.1.0')
  assert.deepEqual(body.info, { title: 'test app', version: '1.2.3' })
  assert.deepEqual(body.servers, [{ url: '/' }])
  assert.deepEqual(Object.keys(body.paths), ['/api/workers/{name}'])
  const { put } = body.paths['/api/workers/{name}']
  assert.equal(put.operationId, 'putApiWorkersName')
  assert.deepEqual(
    put.parameters.map((entry: { name: string; in: string; required: boolean }) => [entry.in, entry.name, entry.required]),
    [
      ['path', 'name', true],
      ['query', 'wait', false],
    ],
  )
  assert.equal(put.parameters[0].schema.minLength, 3)
  assert.deepEqual(put.requestBody.content['application/json'].schema.required, ['concurrency'])
  assert.deepEqual(Object.keys(put.responses), ['202', 'default'])
  assert.deepEqual(put['x-middleware'], ['auth'])

  const page = await app.inject({ path: '/docs' })
  assert.match(page.text, /1 routes\. <code>zin routes<\/code> also lists hidden ones/)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/)
  for (const expected of [
    'Change &lt;b&gt;one&lt;/b&gt;',
    'ms &amp; more',
    '<b class="PUT">PUT</b> <code>/api/workers/{name}</code>',
    'prefers-color-scheme:dark',
  ]) {
    assert.ok(page.text.includes(expected), expected)
  }
  for (const absent of ['<script', '<b>one', '/secret']) assert.ok(!page.text.includes(absent), absent)
})

test('the document and the page are compressed on request, and not sent again to a client that caches them', async (t) => {
  const { app } = makeApp(t)
  for (const entry of docsRoutes(app)) app.addRoute('core', entry)
  app.addRoute('p', { ...hello, path: '/first' })
  app.compile()
  const get = (path: string, headers = {}, method = 'GET') => app.inject({ path, headers, method })
  for (const path of ['/openapi.json', '/docs']) {
    const plain = await get(path)
    assert.deepEqual([plain.headers['content-encoding'], plain.headers.vary], [undefined, 'Accept-Encoding'])
    for (const [encoding, unpack] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const packed = await get(path, { 'accept-encoding': encoding })
      assert.equal(packed.headers['content-encoding'], encoding)
      assert.equal(unpack(packed.bytes).toString(), plain.text)
    }
    const head = await get(path, {}, 'HEAD')
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', String(plain.bytes.length)])
    const again = await get(path, { 'if-none-match': plain.headers.etag })
    assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', plain.headers.etag])
  }
  const { etag } = (await get('/openapi.json')).headers
  assert.equal(app.openapi(), app.openapi())
  app.addRoute('p', { ...hello, path: '/second' })
  app.compile()
  const changed = await get('/openapi.json', { 'if-none-match': etag })
  assert.deepEqual([changed.status, Object.keys(changed.body.paths)], [200, ['/first', '/second']])
  assert.match((await get('/docs')).text, /\/second/)
})

test('the OpenAPI document shows the documented schemas of a route instead of the validated ones', async (t) => {
  const { app } = makeApp(t)
  for (const entry of docsRoutes(app)) app.addRoute('core', entry)
  const documented = { params: Type.Object({ id: Type.String({ maxLength: 5 }) }), body: Type.Object({ a: Type.Integer() }) }
  const loose = route({ method: 'POST', path: '/items/:id', body: Type.Object({}), documented, handler: ({ input }) => input.body })
  app.addRoute('p', loose)
  app.compile()
  const { post } = (await app.inject({ path: '/openapi.json' })).body.paths['/items/{id}']
  assert.equal(post.parameters[0].schema.maxLength, 5)
  assert.deepEqual(post.requestBody.content['application/json'].schema.properties, { a: { type: 'integer' } })
  assert.equal((await app.inject({ method: 'POST', path: '/items/longer', body: { a: 'x' } })).status, 200)
  app.addRoute('p', { ...loose, path: '/broken', documented: { body: { type: 'objekt' } } })
  assert.throws(() => app.compile(), /documented body schema is invalid: \/type/)
})

test('the OpenAPI document marks what a request must contain as required: no property with a default, and the credentials of the middleware', async (t) => {
  const { app } = makeApp(t)
  for (const entry of docsRoutes(app)) app.addRoute('core', entry)
  const bearer = { type: 'http', scheme: 'bearer' } as const
  const signature = { type: 'apiKey', in: 'header', name: 'x-signature' } as const
  const handler = (_ctx: unknown, next: () => Promise<unknown>): unknown => next()
  app.addMiddleware('guards', { key: 'token', handler, security: [{ bearer }] })
  app.addMiddleware('guards', { key: 'signed', handler, security: [{ bearer, signature }], replaces: 'token' })
  app.addMiddleware('guards', { key: 'either', handler, security: [{ signature }, { bearer }] })
  app.addMiddleware('guards', { key: 'own', handler })
  const query = Type.Object({ page: Type.Integer({ default: 1 }), wait: Type.Boolean({ default: false }), at: Type.Integer() })
  app.addRoute('p', route({ method: 'GET', path: '/open', query, handler: () => 1 }))
  app.addRoute('p', route({ method: 'GET', path: '/token', use: ['own', 'token'], handler: () => 1 }))
  app.addRoute('p', route({ method: 'GET', path: '/other', use: ['own'], handler: () => 1 }))
  app.addRoute('p', route({ method: 'GET', path: '/signed', use: ['token', 'signed'], handler: () => 1 }))
  app.addRoute('p', route({ method: 'GET', path: '/either', use: ['either'], handler: () => 1 }))
  app.addRoute('p', route({ method: 'GET', path: '/all', use: ['token', 'either'], handler: () => 1 }))
  app.addRoute('p', route({ method: 'POST', path: '/body', body: Type.Object({ a: Type.Integer() }), handler: () => 1 }))
  app.addRoute('p', route({ method: 'POST', path: '/defaults', body: Type.Object({ a: Type.Integer({ default: 1 }) }), handler: () => 1 }))
  app.compile()
  const { paths, components } = (await app.inject({ path: '/openapi.json' })).body
  assert.deepEqual(
    paths['/open'].get.parameters.map((entry: { name: string; required: boolean }) => [entry.name, entry.required]),
    [
      ['page', false],
      ['wait', false],
      ['at', true],
    ],
  )
  assert.deepEqual([paths['/body'].post.requestBody.required, paths['/defaults'].post.requestBody.required], [true, false])
  assert.deepEqual(paths['/open'].get.security, [])
  assert.equal(paths['/other'].get.security, undefined)
  assert.deepEqual(paths['/token'].get.security, [{ bearer: [] }])
  assert.deepEqual(paths['/signed'].get.security, [{ bearer: [], signature: [] }])
  assert.deepEqual(paths['/either'].get.security, [{ signature: [] }, { bearer: [] }])
  assert.deepEqual(paths['/all'].get.security, [{ bearer: [], signature: [] }, { bearer: [] }])
  assert.deepEqual(components.securitySchemes, { bearer, signature })
})

test('every operation of the OpenAPI document has an id of its own, whatever the order in which routes are registered', async (t) => {
  const paths = ['/a/b', '/a-b', '/a/:b', '/a']
  for (const registered of [paths, paths.toReversed()]) {
    const { app } = makeApp(t)
    for (const entry of docsRoutes(app)) app.addRoute('core', entry)
    for (const path of registered) app.addRoute('p', { ...hello, path: path as '/' })
    app.compile()
    const { body } = await app.inject({ path: '/openapi.json' })
    const ids = Object.entries<{ get: { operationId: string } }>(body.paths).map(([path, { get }]) => [path, get.operationId])
    assert.deepEqual(ids, [
      ['/a', 'getA'],
      ['/a-b', 'getAB'],
      ['/a/{b}', 'getAB_2'],
      ['/a/b', 'getAB_3'],
    ])
  }
})
