import assert from 'node:assert/strict'
import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { once } from 'node:events'
import { existsSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Middleware } from 'koa'
import { Type } from 'typebox'
import fc from '../../scripts/testing/properties.js'
import { captureBody } from './body.js'
import { requestContext } from './request-context.js'
import { listen, makeApp, RawClient, rawRequest, route } from './test-support.js'

const anything = Type.Object({})
const json = route({ method: 'POST', path: '/json', body: anything, handler: ({ input }) => ({ got: input.body }) })

test('a middleware reads the raw bytes and the parser gets the same bytes', async (t) => {
  const { app } = makeApp(t)
  let seen: Buffer | undefined
  app.addMiddleware('test', {
    key: 'sign',
    handler: async (ctx, next) => {
      seen = await captureBody(ctx)
      assert.equal(await captureBody(ctx), seen)
      await next()
    },
  })
  app.addRoute('test', { ...json, use: ['sign'] })
  app.compile()
  const text = ' {"a" : "\\u00e4ä"}\n'
  const response = await app.inject({ method: 'POST', path: '/json', body: text, headers: { 'content-type': 'application/json' } })
  assert.deepEqual(response.body, { got: { a: 'ää' } })
  assert.equal(seen?.toString(), text)
})

test('a body over the limit of the route is 413, announced or chunked', async (t) => {
  const { app } = makeApp(t, [json, { ...json, path: '/small', bodyLimit: 10 }])
  const big = { text: 'x'.repeat(2000) }
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
    const response = await app.inject({ method: 'POST', path: '/json', body: big, headers })
    assert.equal(response.status, 413)
    assert.equal(response.body.code, 'PAYLOAD_TOO_LARGE')
  }
  assert.equal((await app.inject({ method: 'POST', path: '/small', body: { a: 12345 } })).status, 413)
  assert.equal((await app.inject({ method: 'POST', path: '/small', body: { a: 123 } })).status, 200)
})

test('a middleware may set a lower limit', async (t) => {
  const { app } = makeApp(t)
  app.addMiddleware('test', {
    key: 'tiny',
    handler: async (ctx, next) => {
      await captureBody(ctx)
      await captureBody(ctx, 5)
      await next()
    },
  })
  app.addRoute('test', { ...json, use: ['tiny'] })
  app.compile()
  assert.equal((await app.inject({ method: 'POST', path: '/json', body: { a: 12345 } })).status, 413)
})

test('a middleware with a higher limit does not raise the limit of the route', async (t) => {
  const { app } = makeApp(t)
  app.addMiddleware('test', {
    key: 'large',
    handler: async (ctx, next) => {
      await captureBody(ctx, 500)
      await next()
    },
  })
  app.addRoute('test', { ...json, use: ['large'], bodyLimit: 10 })
  app.compile()
  const response = await app.inject({ method: 'POST', path: '/json', body: { a: 12345 } })
  assert.equal(response.status, 413)
  assert.equal((await app.inject({ method: 'POST', path: '/json', body: { a: 1 } })).status, 200)
})

test('only uncompressed JSON in UTF-8 is accepted as JSON', async (t) => {
  const { app } = makeApp(t, [json])
  const send = (type: string | undefined, body: string | Buffer = '{}', more = {}) =>
    app.inject({ method: 'POST', path: '/json', body, headers: { 'content-type': type, ...more } })
  for (const type of ['application/json', 'application/json; charset=utf-8', 'application/vnd.api+json', 'APPLICATION/JSON'])
    assert.equal((await send(type)).status, 200, type)
  for (const type of [
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    'application/json; charset=utf-16',
  ]) {
    const response = await send(type)
    assert.equal(response.status, 415, type)
    assert.equal(response.body.code, 'UNSUPPORTED_MEDIA_TYPE')
  }
  assert.equal((await send('application/json', gzipSync('{}'), { 'content-encoding': 'gzip' })).status, 415)
  assert.equal((await send('application/json', '{}', { 'content-encoding': 'identity' })).status, 200)
  assert.equal((await send('application/json', Buffer.from([0x22, 0xff, 0x22]))).body.code, 'INVALID_JSON')
  assert.equal((await send('application/json', '\ufeff{}')).body.code, 'INVALID_JSON')
  const malformed = await send('application/json', '{"password": secret}')
  assert.equal(malformed.status, 400)
  assert.match(malformed.body.message, /position 13$/)
})

test('a body that the route does not use is ignored up to the limit', async (t) => {
  const { app } = makeApp(t, [route({ method: 'POST', path: '/start', handler: ({ input }) => ({ body: input.body ?? null }) })])
  assert.deepEqual(
    (await app.inject({ method: 'POST', path: '/start', body: 'not json', headers: { 'content-type': 'text/plain' } })).body,
    { body: null },
  )
  assert.equal((await app.inject({ method: 'POST', path: '/start', body: 'x'.repeat(1001) })).status, 413)
})

test('a raw body is a buffer, even if it is empty', async (t) => {
  const { app } = makeApp(t, [
    route({ method: 'POST', path: '/raw', bodyType: 'raw', handler: ({ input }) => ({ hex: input.body.toString('hex') }) }),
  ])
  assert.deepEqual((await app.inject({ method: 'POST', path: '/raw', body: Buffer.from([0, 255]) })).body, { hex: '00ff' })
  assert.deepEqual((await app.inject({ method: 'POST', path: '/raw' })).body, { hex: '' })
})

const form = route({
  method: 'POST',
  path: '/form',
  bodyType: 'form',
  bodyLimit: 10_000,
  body: Type.Object({ name: Type.String() }),
  handler: (ctx) => {
    const { files } = ctx.request as unknown as { files?: Record<string, { filepath: string; originalFilename: string; size: number }> }
    return { body: ctx.input.body, file: files?.upload }
  },
})

test('a urlencoded form is parsed and validated', async (t) => {
  const { app } = makeApp(t, [form])
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.deepEqual((await app.inject({ method: 'POST', path: '/form', body: 'name=a+b&x=%C3%A4', headers })).body.body, {
    name: 'a b',
    x: 'ä',
  })
  assert.equal((await app.inject({ method: 'POST', path: '/form', body: 'x=1', headers })).body.code, 'VALIDATION_FAILED')
  assert.equal((await app.inject({ method: 'POST', path: '/form', body: { name: 'x' } })).status, 415)
})

const fields = Type.Object({
  n: Type.Optional(Type.Integer()),
  ratio: Type.Optional(Type.Number()),
  yes: Type.Optional(Type.Boolean()),
  tags: Type.Optional(Type.Array(Type.String())),
  ids: Type.Optional(Type.Array(Type.Integer())),
})

/** The same fields as a query, a urlencoded and a multipart form. */
function threeWays(pairs: readonly (readonly [name: string, value: string])[]) {
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString()
  const parts = pairs.map(([name, value]) => `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
  return {
    query: { path: `/read?${text}` },
    urlencoded: { method: 'POST', path: '/read', body: text, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    multipart: {
      method: 'POST',
      path: '/read',
      body: `${parts.join('')}--edge--\r\n`,
      headers: { 'content-type': 'multipart/form-data; boundary=edge' },
    },
  } as const
}

test('query, urlencoded and multipart forms are read alike, and converted by the schema', async (t) => {
  const { app } = makeApp(t, [
    route({ method: 'GET', path: '/read', query: fields, handler: ({ input }) => input.query }),
    route({ method: 'POST', path: '/read', bodyType: 'form', bodyLimit: 10_000, body: fields, handler: ({ input }) => input.body }),
  ])
  const cases: readonly (readonly [pairs: readonly (readonly [string, string])[], read: object | 400])[] = [
    [
      [
        ['n', '5'],
        ['ratio', '1.5'],
        ['yes', 'true'],
        ['tags', 'one'],
      ],
      { n: 5, ratio: 1.5, yes: true, tags: ['one'] },
    ],
    [
      [
        ['tags', 'a'],
        ['ids', '1'],
        ['tags', 'b'],
        ['ids', '2'],
      ],
      { tags: ['a', 'b'], ids: [1, 2] },
    ],
    [
      [
        ['a[b]', '1'],
        ['a.b', '2'],
        ['a[]', '3'],
        ['toString', '4'],
      ],
      { 'a[b]': '1', 'a.b': '2', 'a[]': '3', toString: '4' },
    ],
    [[['n', '']], 400],
    [
      [
        ['n', '5'],
        ['n', '6'],
      ],
      400,
    ],
    [[['n', '9007199254740993']], 400],
    [[['n', '1e999']], 400],
    [
      [
        ['ids', '1'],
        ['ids', 'x'],
      ],
      400,
    ],
  ]
  for (const [pairs, read] of cases)
    for (const [way, request] of Object.entries(threeWays(pairs))) {
      const { status, body } = await app.inject(request)
      assert.deepEqual(status === 400 ? 400 : body, read, `${way} ${JSON.stringify(pairs)}`)
    }
})

test('any names and values are read alike from query, urlencoded and multipart forms', async (t) => {
  const { app } = makeApp(t, [
    route({ method: 'GET', path: '/read', query: Type.Object({}), handler: ({ input }) => ({ ...input.query }) }),
    route({
      method: 'POST',
      path: '/read',
      bodyType: 'form',
      bodyLimit: 100_000,
      body: Type.Object({}),
      handler: ({ input }) => ({ ...(input.body as object) }),
    }),
  ])
  const name = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => !/["\\\r\n%]|^__proto__$/.test(text))
  const value = fc.string({ maxLength: 8 }).filter((text) => !/[\r\n]/.test(text))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 6 }), async (pairs) => {
      const found = await Promise.all(Object.values(threeWays(pairs)).map(async (request) => (await app.inject(request)).body))
      assert.deepEqual(found[1], found[0])
      assert.deepEqual(found[2], found[0])
    }),
  )
})

test('an empty body needs no type, however it is framed', async (t) => {
  const reached: unknown[] = []
  const optional = Type.Optional(Type.Object({ a: Type.Optional(Type.String()) }))
  const { app } = makeApp(t, [
    route({ method: 'POST', path: '/json', body: optional as never, handler: ({ input }) => void reached.push(input.body) }),
    route({
      method: 'POST',
      path: '/form',
      bodyType: 'form',
      body: optional as never,
      handler: ({ input }) => void reached.push(input.body),
    }),
  ])
  for (const path of ['/json', '/form'])
    for (const more of [{}, { 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }])
      for (const headers of [
        { 'transfer-encoding': 'chunked', ...more },
        { 'content-length': '0', ...more },
      ]) {
        const { status } = await app.inject({ method: 'POST', path, body: '', headers })
        assert.equal(status, 204, `${path} ${JSON.stringify(headers)}`)
      }
  assert.equal(reached.length, 12)
  const full = { method: 'POST', path: '/json', body: 'x', headers: { 'transfer-encoding': 'chunked', 'content-type': 'text/plain' } }
  assert.equal((await app.inject(full)).status, 415)
})

function multipart(name: string): { body: string; headers: Record<string, string> } {
  const parts = [
    '--edge',
    'Content-Disposition: form-data; name="name"',
    '',
    name,
    '--edge',
    'Content-Disposition: form-data; name="upload"; filename="a.txt"',
    'Content-Type: text/plain',
    '',
    'file text',
    '--edge--',
    '',
  ]
  return { body: parts.join('\r\n'), headers: { 'content-type': 'multipart/form-data; boundary=edge' } }
}

test('files of a multipart form exist while the request runs and are removed when it ends', async (t) => {
  let path = ''
  let closed: Promise<unknown> = Promise.resolve()
  const { app } = makeApp(t, [
    {
      ...form,
      handler: (ctx) => {
        const { files } = ctx.request as unknown as { files: Record<string, { filepath: string; originalFilename: string }> }
        path = files.upload?.filepath ?? ''
        closed = once(ctx.res, 'close')
        return { body: ctx.input.body, name: files.upload?.originalFilename, exists: existsSync(path) }
      },
    },
  ])
  const response = await app.inject({ method: 'POST', path: '/form', ...multipart('x') })
  assert.deepEqual(response.body, { body: { name: 'x' }, name: 'a.txt', exists: true })
  await closed
  for (let turns = 0; turns < 10_000 && existsSync(path); turns++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(existsSync(path), false)
})

test('a broken multipart form is 400', async (t) => {
  const { app } = makeApp(t, [form])
  const response = await app.inject({ method: 'POST', path: '/form', body: 'nonsense', headers: { 'content-type': 'multipart/form-data' } })
  assert.equal(response.status, 400)
  assert.equal(response.body.code, 'INVALID_FORM')
})

/** Uploads in the temporary folder, and those that this process has open. Without /proc only the former. */
function uploads(): readonly string[] {
  const lying = readdirSync(tmpdir()).filter((name) => /^[a-z0-9]{25}$/.test(name))
  if (process.platform !== 'linux') return lying
  const open = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return [...lying, ...open.filter((path) => path.startsWith(tmpdir()) && /\/[a-z0-9]{25}( \(deleted\))?$/.test(path))]
}

/** Waits until no new upload is left: the client does not wait for what happens at the end of a response. */
async function assertNoUploads(before: readonly string[]): Promise<void> {
  const left = () => uploads().filter((path) => !before.includes(path))
  for (let turns = 0; turns < 200 && left().length > 0; turns++) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.deepEqual(left(), [])
}

const file = '--edge\r\nContent-Disposition: form-data; name="upload"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nfile text\r\n'
const brokenForms: readonly (readonly [what: string, body: string])[] = [
  ['breaks off in a boundary', `${file}--edge\r\nbad`],
  ['has a broken second boundary', `${file}--edgebad`],
  ['has a broken header', `${file}--edge\r\nb@d: x\r\n\r\n`],
  ['has no end', file],
  ['has two files and no end', file + file],
  ['has an unknown encoding', `${file}--edge\r\nContent-Transfer-Encoding: magic\r\n\r\nx\r\n--edge--\r\n`],
  ['does not even begin', 'nonsense'],
]
for (const [what, body] of brokenForms) {
  test(`a multipart form that ${what} is 400 and leaves neither an open nor a temporary file`, async (t) => {
    const { app } = makeApp(t, [form])
    const before = uploads()
    const headers = multipart('x').headers
    const responses = await Promise.all(Array.from({ length: 20 }, () => app.inject({ method: 'POST', path: '/form', body, headers })))
    assert.deepEqual([...new Set(responses.map(({ status, body }) => `${status} ${body.code}`))], ['400 INVALID_FORM'])
    await assertNoUploads(before)
  })
}

test('uploads are removed if the handler throws or the form does not match its schema', async (t) => {
  const failing = route({ ...form, path: '/fails', handler: () => Promise.reject(new Error('on purpose')) })
  const { app } = makeApp(t, [form, failing])
  const before = uploads()
  assert.equal((await app.inject({ method: 'POST', path: '/fails', ...multipart('x') })).status, 500)
  const unnamed = { body: `${file}--edge--\r\n`, headers: multipart('x').headers }
  assert.equal((await app.inject({ method: 'POST', path: '/form', ...unnamed })).body.code, 'VALIDATION_FAILED')
  await assertNoUploads(before)
})

test('uploads are removed if the client disconnects: before they are complete, or when the handler has ended', async (t) => {
  let arrived = (): void => undefined
  let leave = (): void => undefined
  const slow = route({
    ...form,
    handler: async () => {
      arrived()
      await new Promise<void>((resolve) => {
        leave = resolve
      })
    },
  })
  const { app } = makeApp(t, [slow])
  const port = await listen(app)
  const before = uploads()
  const { body, headers } = multipart('x')
  const request = rawRequest(
    'POST /form',
    Object.entries({ ...headers, 'content-length': body.length }).map(([name, value]) => `${name}: ${value}`),
    body,
  )
  const handled = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const [partial, whole] = [await RawClient.open(port), await RawClient.open(port)]
  partial.send(request.slice(0, -20))
  whole.send(request)
  await handled
  assert.notDeepEqual(uploads(), before)
  partial.socket.destroy()
  whole.socket.destroy()
  await whole.closed
  assert.notDeepEqual(uploads(), before)
  leave()
  await assertNoUploads(before)
})

test('uploads are readable by this user only', { skip: process.platform === 'win32' }, async (t) => {
  let mode = 0
  const looks = route({
    ...form,
    handler: (ctx) => {
      const { files } = ctx.request as unknown as { files: Record<string, { filepath: string }> }
      mode = statSync(files.upload?.filepath ?? '').mode & 0o777
    },
  })
  const { app } = makeApp(t, [looks])
  await app.inject({ method: 'POST', path: '/form', ...multipart('x') })
  assert.equal(mode, 0o600)
})

test('a body stream that a middleware has consumed is reported instead of awaited', async (t) => {
  const { app, failures } = makeApp(t, [json])
  app.addGlobal('test', async (ctx, next) => {
    for await (const _ of ctx.req);
    await next()
  })
  app.compile()
  assert.equal((await app.inject({ method: 'POST', path: '/json', body: {} })).status, 500)
  assert.equal((failures[0]?.error as { code?: string }).code, 'BODY_CONSUMED')
})

test('a handler runs in the async context of its request, however its body arrives', async (t) => {
  const storage = new AsyncLocalStorage<string>()
  const seen = (): object => ({ route: requestContext()?.route?.path, user: requestContext()?.userId ?? '', own: storage.getStore() ?? '' })
  const post = { method: 'POST', body: anything } as const
  const handlers = { sync: seen, async: async () => seen(), later: () => Promise.resolve().then(seen) }
  const routes = Object.entries(handlers).map(([name, handler]) => route({ ...post, path: `/${name}`, handler }))
  const guards = ['promise', 'returned', 'awaited', 'captured']
  const guarded = guards.map((key) => route({ ...post, path: `/${key}`, use: [key], handler: seen }))
  for (const withGlobal of [false, true]) {
    const { app } = makeApp(t)
    for (const one of [...routes, ...guarded]) app.addRoute('test', one)
    const user = (): void => {
      const context = requestContext()
      if (context) context.userId = 'ada'
    }
    app.addMiddleware('test', {
      key: 'promise',
      handler: async (_ctx, next) => {
        await Promise.resolve().then(user)
        return next()
      },
    })
    app.addMiddleware('test', { key: 'returned', handler: (_ctx, next) => (user(), next()) })
    app.addMiddleware('test', { key: 'awaited', handler: async (_ctx, next) => (user(), await next()) })
    app.addMiddleware('test', { key: 'captured', handler: async (ctx, next) => (user(), await captureBody(ctx), next()) })
    if (withGlobal) app.addGlobal('test', (ctx, next) => storage.run(ctx.path, next))
    app.compile()
    const port = await listen(app)
    for (const path of [...routes, ...guarded].map((one) => one.path)) {
      const expected = { route: path, user: guards.includes(path.slice(1)) ? 'ada' : '', own: withGlobal ? path : '' }
      const headers = ['Content-Type: application/json', 'Content-Length: 11']
      const client = await RawClient.open(port)
      client.send(rawRequest(`POST ${path}`, headers, '{"a":'))
      await turn()
      client.send('"te')
      await turn()
      client.send('x"}')
      await client.closed
      assert.deepEqual(JSON.parse(client.text.slice(client.text.indexOf('\r\n\r\n'))), expected, `in pieces, ${path}`)
      assert.deepEqual((await app.inject({ method: 'POST', path, body: { a: 'tex' } })).body, expected, `in one piece, ${path}`)
    }
  }
})

const firstPiece = (ctx: Parameters<Middleware>[0]): Promise<Buffer> =>
  new Promise((resolve) => {
    ctx.req.once('data', (piece: Buffer) => {
      ctx.req.pause()
      resolve(piece)
    })
  })
/** Middleware that touches the body, and the code of the response. */
const touching: Readonly<Record<string, readonly [use: Middleware, code: string | undefined]>> = {
  'reads its first piece': [async (ctx, next) => (await firstPiece(ctx), next()), 'BODY_CONSUMED'],
  'puts its first piece back': [async (ctx, next) => (ctx.req.unshift(await firstPiece(ctx)), next()), undefined],
  'pauses it': [async (ctx, next) => (ctx.req.pause(), next()), undefined],
  'listens to it, too': [(ctx, next) => (ctx.req.on('data', () => undefined), next()), undefined],
  'makes it text': [(ctx, next) => (ctx.req.setEncoding('utf8'), next()), 'BODY_CONSUMED'],
  'makes it text while it is read': [
    (ctx, next) => {
      const rest = next()
      ctx.req.setEncoding('utf8')
      return rest
    },
    'BODY_CONSUMED',
  ],
}
const bodyTypes = {
  json: { 'content-type': 'application/json', body: '{"a":"b"}' },
  raw: { 'content-type': 'text/plain', body: 'some text' },
  form: { 'content-type': 'application/x-www-form-urlencoded', body: 'a=b&c=d&e' },
} as const
for (const [what, [use, code]] of Object.entries(touching)) {
  test(`a middleware that ${what} neither loses a part of a body nor ends the process`, async (t) => {
    const { app } = makeApp(t)
    app.addGlobal('test', use)
    for (const bodyType of ['json', 'raw', 'form'] as const)
      app.addRoute('test', route({ method: 'POST', path: `/${bodyType}`, bodyType, handler: () => ({ read: true }) }))
    app.compile()
    const port = await listen(app)
    for (const [type, { body, 'content-type': contentType }] of Object.entries(bodyTypes))
      for (const isChunked of [false, true]) {
        const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
        const frame = (piece: string): string => (isChunked ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece)
        const client = await RawClient.open(port)
        client.send(rawRequest(`POST /${type}`, [`Content-Type: ${contentType}`, framing]))
        for (const piece of [body.slice(0, 3), body.slice(3, 5), body.slice(5)]) {
          for (let i = 0; i < 3; i++) await turn()
          client.send(frame(piece))
        }
        client.send(isChunked ? '0\r\n\r\n' : '')
        await client.closed
        const found = /"code":"(\w+)"/.exec(client.text)?.[1]
        assert.deepEqual([type, isChunked, found], [type, isChunked, code], client.text)
      }
  })
}

test('a request that ends at any byte neither ends the process nor leaves anything behind', async (t) => {
  const waiting = new Set<number>()
  const hook = createHook({
    init: (id, type) => {
      if (type === 'ZIN_BODY') waiting.add(id)
    },
    destroy: (id) => void waiting.delete(id),
  }).enable()
  t.after(() => hook.disable())
  const { app } = makeApp(t, [json])
  const port = await listen(app)
  const requests = [
    rawRequest('POST /json', ['Content-Type: application/json', 'Content-Length: 9'], '{"a":"é"}'),
    rawRequest(
      'POST /json',
      ['Content-Type: application/json', 'Transfer-Encoding: chunked'],
      '4\r\n{"a"\r\n4\r\n:"x"\r\n1\r\n}\r\n0\r\n\r\n',
    ),
  ]
  for (const request of requests)
    for (let end = 1; end <= request.length; end += end < request.length - 60 ? 25 : 1) {
      const client = await RawClient.open(port)
      client.send(request.slice(0, end))
      await turn()
      if (end % 2 === 0) client.socket.resetAndDestroy()
      else client.socket.end()
      await client.closed
    }
  assert.equal((await app.inject({ method: 'POST', path: '/json', body: {} })).status, 200)
  for (let turns = 0; turns < 1000 && waiting.size > 0; turns++) await turn()
  assert.equal(waiting.size, 0)
})
