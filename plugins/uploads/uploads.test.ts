import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, it } from 'node:test'
import { captureBody, type PluginContext, Type, type Upload } from 'zin'
import { createTestHost, describePlugin } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { uploads } from './index.js'
import { formOf, pngFile, uploadApp } from './testing/app.js'
import { fileHead, head, rawClient } from './testing/raw-client.js'

const shown = ({ originalFilename, mimetype, size }: Upload): object => ({ originalFilename, mimetype, size })

/** A route that returns what it received. */
const echo = ({ route }: PluginContext): void =>
  route({
    method: 'POST',
    path: '/form',
    summary: 'x',
    bodyType: 'form',
    handler: ({ input, request }) => ({
      body: input.body,
      files: Object.entries(request.files).map(([name, given]) => [name, [given ?? []].flat().map(shown)]),
    }),
  })

describe('a form with files', () => {
  it('gives typed files and the same fields as JSON would; a moved file stays, others go after the request', async (t) => {
    const kept = await mkdtemp(join(tmpdir(), 'zin-kept-'))
    t.after(() => rm(kept, { recursive: true, force: true }))
    const seen: Upload[] = []
    const app = await uploadApp(t, {}, ({ route }) =>
      route({
        method: 'POST',
        path: '/products',
        summary: 'x',
        bodyType: 'form',
        body: Type.Object({
          name: Type.String(),
          price: Type.Integer(),
          tags: Type.Array(Type.String()),
          open: Type.Boolean({ default: true }),
        }),
        files: { image: { types: ['image/*'] }, extra: { maxCount: 3, optional: true }, note: { optional: true } },
        handler: async ({ input, request: { files } }) => {
          seen.push(files.image, ...(files.extra ?? []))
          const { mode } = statSync(files.image.filepath)
          await files.image.moveTo(join(kept, 'image'))
          return {
            body: input.body,
            image: shown(files.image),
            extra: files.extra?.map(shown),
            note: files.note ?? null,
            mode: mode & 0o777,
          }
        },
      }),
    )
    const answer = await app.post(
      '/products',
      formOf([
        ['name', 'Lamp'],
        ['price', '42'],
        ['tags', 'light'],
        ['image', pngFile('../../etc/passwd.png', 100_000)],
        ['extra', new File(['a'], 'a.txt', { type: 'text/plain' })],
        ['extra', new File(['{"b":1}'], 'b.json', { type: 'application/json' })],
      ]),
    )
    assert.deepEqual(answer, {
      status: 200,
      body: {
        body: { name: 'Lamp', price: 42, tags: ['light'], open: true },
        image: { originalFilename: 'passwd.png', mimetype: 'image/png', size: 100_000 },
        extra: [
          { originalFilename: 'a.txt', mimetype: 'text/plain', size: 1 },
          { originalFilename: 'b.json', mimetype: 'application/json', size: 7 },
        ],
        note: null,
        mode: 0o600,
      },
    })
    assert.equal((await readFile(join(kept, 'image'))).length, 100_000)
    await app.assertNothingLeft()
    assert.equal(seen.length, 3)
    // It never replaces what exists.
    const again = await app.post(
      '/products',
      formOf([
        ['name', 'x'],
        ['price', '1'],
        ['tags', 'a'],
        ['image', pngFile()],
      ]),
    )
    assert.equal(again.status, 500)
    await app.assertNothingLeft()
  })

  it('exists until the handler and the response have ended, and no longer, whatever fails', async (t) => {
    let path = ''
    const app = await uploadApp(t, {}, ({ route }) => {
      const form = { method: 'POST', summary: 'x', bodyType: 'form' } as const
      route({
        ...form,
        path: '/sent',
        handler: async ({ request: { files } }) => {
          const { createReadStream } = await import('node:fs')
          return createReadStream((files.upload as Upload).filepath)
        },
      })
      route({ ...form, path: '/fails', handler: () => Promise.reject(new Error('on purpose')) })
      route({ ...form, path: '/invalid', body: Type.Object({ n: Type.Integer() }), handler: () => 1 })
      route({
        ...form,
        path: '/left',
        handler: async ({ req, request: { files } }) => {
          path = (files.upload as Upload).filepath
          await once(req.socket, 'close')
          await new Promise(setImmediate)
          path = `${readFileSync(path)}`
        },
      })
    })
    const form = () => formOf([['upload', new File(['x'.repeat(200_000)], 'a')]])
    const sent = await fetch(`${app.url}/sent`, { method: 'POST', body: form() })
    assert.equal((await sent.text()).length, 200_000)
    assert.equal((await app.post('/fails', form())).status, 500)
    assert.equal((await app.post('/invalid', form())).body.code, 'VALIDATION_FAILED')
    await app.assertNothingLeft()
    const client = await rawClient(app.url)
    const body = `${fileHead}text\r\n--edge--\r\n`
    client.send(head('/left', body.length) + body)
    await eventually('the handler runs', async () => path !== '')
    client.socket.destroy()
    await eventually('the handler read it after the client had left', async () => path === 'text')
    await app.assertNothingLeft()
  })

  it('can be read from bytes that a guard needed, and after 100-continue', async (t) => {
    const app = await uploadApp(t, {}, (ctx) => {
      ctx.middleware({ key: 'signed', handler: async (request, next) => (await captureBody(request), next()) })
      ctx.route({
        method: 'POST',
        path: '/signed',
        summary: 'x',
        use: ['signed'],
        bodyType: 'form',
        files: { upload: {} },
        handler: ({ request: { files } }) => shown(files.upload),
      })
      echo(ctx)
    })
    const form = formOf([['upload', pngFile()]])
    assert.deepEqual((await app.post('/signed', form)).body, { originalFilename: 'a.png', mimetype: 'image/png', size: 67 })
    const { hostname, port } = new URL(app.url)
    const body = `${fileHead}text\r\n--edge--\r\n`
    const headers = { 'content-type': 'multipart/form-data; boundary=edge', 'content-length': body.length, expect: '100-continue' }
    const req = request({ hostname, port, path: '/form', method: 'POST', headers })
    req.flushHeaders()
    await once(req, 'continue')
    req.end(body)
    const [res] = await once(req, 'response')
    assert.equal(res.statusCode, 200)
    res.resume()
    await app.assertNothingLeft()
  })

  it('goes to a stream of the app, which is destroyed when the upload fails', async (t) => {
    const streams: { readonly stream: Writable; readonly chunks: Buffer[]; readonly signal: AbortSignal }[] = []
    const app = await uploadApp(t, { maxFileSize: 200_000 }, ({ route }) =>
      route({
        method: 'POST',
        path: '/stream',
        summary: 'x',
        bodyType: 'form',
        files: {
          first: {},
          second: { optional: true },
        },
        streamFile: ({ field, signal }) => {
          if (field === 'second') return undefined
          const chunks: Buffer[] = []
          const stream = new Writable({ write: (chunk, _encoding, done) => void (chunks.push(chunk), setImmediate(done)) })
          streams.push({ stream, chunks, signal })
          return stream
        },
        handler: async ({ request: { files } }) => {
          await assert.rejects(files.first.moveTo('/tmp/x'), { code: 'UPLOAD_STREAMED' })
          return { ...shown(files.first), path: files.first.filepath, same: files.first.stream === streams.at(-1)?.stream }
        },
      }),
    )
    const ok = await app.post('/stream', formOf([['first', pngFile('a', 150_000)]]))
    assert.deepEqual(ok.body, { originalFilename: 'a', mimetype: 'image/png', size: 150_000, path: '', same: true })
    assert.equal(Buffer.concat(streams[0]?.chunks ?? []).length, 150_000)
    assert.equal(streams[0]?.stream.writableFinished, true)
    assert.equal((await app.post('/stream', formOf([['first', pngFile('a', 250_000)]]))).body.code, 'UPLOAD_TOO_LARGE')
    assert.deepEqual([streams[1]?.stream.destroyed, streams[1]?.signal.aborted], [true, true])
    // The first is complete, the second too large.
    const late = await app.post(
      '/stream',
      formOf([
        ['first', pngFile('a')],
        ['second', pngFile('b', 250_000)],
      ]),
    )
    assert.equal(late.body.code, 'UPLOAD_TOO_LARGE')
    assert.equal(streams[2]?.signal.aborted, true)
    await app.assertNothingLeft()
  })

  it('that has none, or no body, has no files, and is refused where one is needed', async (t) => {
    const app = await uploadApp(t, {}, (ctx) => {
      echo(ctx)
      ctx.route({ method: 'POST', path: '/needs', summary: 'x', bodyType: 'form', files: { a: {} }, handler: () => 1 })
    })
    const urlencoded = { method: 'POST', body: 'n=5&n=6', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const { host } = app
    assert.deepEqual((await host.inject({ ...urlencoded, path: '/form' })).body, { body: { n: ['5', '6'] }, files: [] })
    assert.deepEqual((await host.inject({ method: 'POST', path: '/form' })).body, { files: [] })
    for (const request of [urlencoded, { method: 'POST' }])
      assert.equal((await host.inject({ ...request, path: '/needs' })).body.code, 'UPLOAD_MISSING')
    const memory = await createTestHost({
      routes: [
        {
          method: 'POST',
          path: '/form',
          summary: 'x',
          bodyType: 'form',
          handler: ({ request }: { request: { files: object } }) => request.files,
        },
      ] as never,
    })
    assert.deepEqual((await memory.inject({ ...urlencoded, path: '/form' })).body, {})
    await memory.stop()
  })

  it('is described in OpenAPI', async (t) => {
    const app = await uploadApp(t, {}, ({ route }) => {
      route({
        method: 'POST',
        path: '/products',
        summary: 'x',
        bodyType: 'form',
        body: Type.Object({ name: Type.String() }),
        files: { image: { types: ['image/png'], description: 'A picture' }, extra: { maxCount: 3, optional: true } },
        handler: () => 1,
      })
    })
    const { paths } = (await (await fetch(`${app.url}/openapi.json`)).json()) as {
      paths: Record<string, { post: { requestBody: object } }>
    }
    assert.deepEqual(paths['/products']?.post.requestBody, {
      required: true,
      content: {
        'multipart/form-data': {
          schema: {
            type: 'object',
            required: ['name', 'image'],
            properties: {
              name: { type: 'string' },
              image: { type: 'string', format: 'binary', contentMediaType: 'image/png', description: 'A picture' },
              extra: { type: 'array', maxItems: 3, items: { type: 'string', format: 'binary' } },
            },
          },
        },
      },
    })
  })

  it('needs the plugin where a route lists files, and one reader only', async () => {
    const route = { method: 'POST', path: '/a', summary: 'x', bodyType: 'form', files: { a: {} }, handler: () => 1 } as const
    await assert.rejects(createTestHost({ routes: [route] }), /its "files" needs a plugin that reads forms/)
    await assert.rejects(
      createTestHost({ plugins: [uploads()], routes: [{ ...route, bodyType: 'json' }] }),
      /its "files" needs bodyType: 'form'/,
    )
    const host = await createTestHost({ plugins: [uploads()], routes: [{ ...route, files: undefined }] })
    // Without it, forms are read into memory again.
    await host.disable('uploads')
    const body = `${fileHead}text\r\n--edge--\r\n`
    const { status } = await host.inject({
      method: 'POST',
      path: '/a',
      body,
      headers: { 'content-type': 'multipart/form-data; boundary=edge' },
    })
    assert.equal(status, 200)
    await host.stop()
  })
})

describe('limits of uploads', () => {
  it('each is met from outside just below, and holds just above, with nothing left', async (t) => {
    const app = await uploadApp(t, { maxFileSize: 10_000, maxFiles: 3, maxFieldBytes: 1000, types: ['image/png', 'text/*'] }, (ctx) => {
      echo(ctx)
      ctx.route({
        method: 'POST',
        path: '/fields',
        summary: 'x',
        bodyType: 'form',
        files: { image: { maxSize: 20_000, types: ['image/gif', 'image/png'] }, more: { maxCount: 2, optional: true } },
        handler: () => 'ok',
      })
    })
    const text = (name: string, bytes: number, content = 'x') =>
      [name, new File([content.repeat(bytes)], 'a.txt', { type: 'text/plain' })] as const
    const png = ['image', pngFile()] as const
    const cases: [what: string, path: string, form: FormData, expected: string][] = [
      ['the largest file', '/form', formOf([text('a', 10_000)]), '200'],
      ['a byte more', '/form', formOf([text('a', 10_001)]), '413 UPLOAD_TOO_LARGE'],
      ['a small one after it', '/form', formOf([text('a', 10_001), text('b', 1)]), '413 UPLOAD_TOO_LARGE'],
      ['a byte more, within the sample', '/form', formOf([text('a', 10_001)]), '413 UPLOAD_TOO_LARGE'],
      ['the most files', '/form', formOf([text('a', 1), text('a', 1), text('b', 1)]), '200'],
      ['one more', '/form', formOf([text('a', 1), text('a', 1), text('b', 1), text('c', 1)]), '413 UPLOAD_TOO_MANY_FILES'],
      [
        'inputs without a file',
        '/form',
        formOf([text('a', 1), ...Array.from({ length: 9 }, () => ['b', new File([], '')] as const)]),
        '200',
      ],
      [
        'the largest fields',
        '/form',
        formOf([
          ['a', 'x'.repeat(499)],
          ['b', 'x'.repeat(499)],
        ]),
        '200',
      ],
      [
        'a byte more of fields',
        '/form',
        formOf([
          ['a', 'x'.repeat(499)],
          ['b', 'x'.repeat(500)],
        ]),
        '413 UPLOAD_FIELDS_TOO_LARGE',
      ],
      ['one large field', '/form', formOf([['a', 'x'.repeat(2000)]]), '413 UPLOAD_FIELDS_TOO_LARGE'],
      ['too many fields', '/form', formOf(Array.from({ length: 1001 }, () => ['', ''] as const)), '413 UPLOAD_FIELDS_TOO_LARGE'],
      ['a PNG with another name', '/form', formOf([['a', pngFile('a.txt')]]), '200'],
      [
        'a program named PNG',
        '/form',
        formOf([['a', new File([Buffer.from('7f454c4602010100', 'hex'), Buffer.alloc(100)], 'a.png', { type: 'image/png' })]]),
        '415 UPLOAD_TYPE_REFUSED',
      ],
      ['bytes named text', '/form', formOf([text('a', 10, '\u0000')]), '415 UPLOAD_TYPE_REFUSED'],
      ['a field with its own size', '/fields', formOf([['image', pngFile('a', 20_000)]]), '200'],
      ['a byte more there', '/fields', formOf([['image', pngFile('a', 20_001)]]), '413 UPLOAD_TOO_LARGE'],
      ['a type that only the plugin accepts', '/fields', formOf([text('image', 1)]), '415 UPLOAD_TYPE_REFUSED'],
      ['the most of a field', '/fields', formOf([png, text('more', 1), text('more', 1)]), '200'],
      ['two where one is expected', '/fields', formOf([png, png]), '413 UPLOAD_TOO_MANY_FILES'],
      ['a field that is not listed', '/fields', formOf([png, text('other', 1)]), '400 UPLOAD_UNEXPECTED'],
      ['a name of every object', '/fields', formOf([png, text('constructor', 1)]), '400 UPLOAD_UNEXPECTED'],
      ['none where one is needed', '/fields', formOf([text('more', 1)]), '400 UPLOAD_MISSING'],
      ['a field instead of a file', '/fields', formOf([['image', 'x']]), '400 UPLOAD_MISSING'],
    ]
    for (const [what, path, form, expected] of cases) {
      const { status, body } = await app.post(path, form)
      assert.equal(status === 200 ? '200' : `${status} ${body.code}`, expected, what)
      await app.assertNothingLeft()
    }
  })

  it('the limits that are no options hold as well: 1000 fields, names of 1000 bytes; longer file names are cut', async (t) => {
    const app = await uploadApp(t, {}, echo)
    const fields = (count: number) => formOf(Array.from({ length: count }, () => ['a', ''] as const))
    const file = (name: string): FormData => formOf([[name, pngFile()]])
    const cases: [what: string, form: FormData, expected: string][] = [
      ['the most fields', fields(1000), '200'],
      ['one more', fields(1001), '413 UPLOAD_FIELDS_TOO_LARGE'],
      ['the longest name of a field', formOf([['n'.repeat(1000), '']]), '200'],
      ['a byte more', formOf([['n'.repeat(1001), '']]), '400 INVALID_FORM'],
      ['the longest name for a file, in bytes', file('ä'.repeat(500)), '200'],
      ['a byte more for a file', file(`${'ä'.repeat(500)}n`), '400 INVALID_FORM'],
    ]
    for (const [what, form, expected] of cases) {
      const { status, body } = await app.post('/form', form)
      assert.equal(status === 200 ? '200' : `${status} ${body.code}`, expected, what)
      await app.assertNothingLeft()
    }
    const { body } = await app.post('/form', formOf([['a', pngFile(`${'n'.repeat(100_000)}.png`)]]))
    assert.equal(body.files[0][1][0].originalFilename, 'n'.repeat(200))
  })

  it('idleMs and deadlineMs end slow clients with 408, and leave nothing', async (t) => {
    const idle = await uploadApp(t, { idleMs: 50 }, echo)
    const stopped = await rawClient(idle.url)
    stopped.send(`${head('/form', 100_000)}${fileHead}${'x'.repeat(20_000)}`)
    assert.match(await stopped.closed, /^HTTP\/1\.1 408 .*UPLOAD_TOO_SLOW/s)
    await idle.assertNothingLeft()
    await eventually('no file is open', () => idle.openFiles() === 0)
    const deadline = await uploadApp(t, { deadlineMs: 200 }, echo)
    const trickling = await rawClient(deadline.url)
    trickling.send(`${head('/form', 100_000)}${fileHead}${'x'.repeat(20_000)}`)
    const timer = setInterval(() => trickling.send('x'), 20)
    assert.match(await trickling.closed, /^HTTP\/1\.1 408 .*UPLOAD_TOO_SLOW/s)
    clearInterval(timer)
    await deadline.assertNothingLeft()
  })

  it('maxUploads refuses more forms at once', async (t) => {
    const app = await uploadApp(t, { maxUploads: 2 }, echo)
    const slow = [await rawClient(app.url), await rawClient(app.url)]
    for (const client of slow) client.send(`${head('/form', 100_000)}${fileHead}${'x'.repeat(20_000)}`)
    await eventually('both arrive', async () => (await app.left()).length === 2)
    assert.equal((await app.post('/form', formOf([['a', pngFile()]]))).body.code, 'UPLOADS_EXHAUSTED')
    for (const { socket } of slow) socket.destroy()
    await app.assertNothingLeft()
    await eventually('there is room again', async () => (await app.post('/form', formOf([['a', pngFile()]]))).status === 200)
  })

  it('the limit of a route holds for its whole form, announced or not', async (t) => {
    const app = await uploadApp(t, {}, ({ route }) =>
      route({ method: 'POST', path: '/small', summary: 'x', bodyType: 'form', bodyLimit: 50_000, handler: () => 'ok' }),
    )
    assert.equal((await app.post('/small', formOf([['a', pngFile('a', 40_000)]]))).status, 200)
    assert.equal((await app.post('/small', formOf([['a', pngFile('a', 60_000)]]))).body.code, 'PAYLOAD_TOO_LARGE')
    const client = await rawClient(app.url)
    const piece = fileHead + 'x'.repeat(60_000)
    client.send(`${head('/small', undefined)}${piece.length.toString(16)}\r\n${piece}\r\n`)
    assert.match(await client.closed, /^HTTP\/1\.1 413 .*PAYLOAD_TOO_LARGE/s)
    await app.assertNothingLeft()
  })
})

describe('broken and hostile forms', () => {
  const part = (disposition: string, content = 'x'): string =>
    `--edge\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`
  const file = `${fileHead}file text\r\n`
  const end = '--edge--\r\n'
  const cases: [what: string, body: string, code: string, type?: string][] = [
    ['does not begin', 'nonsense', 'INVALID_FORM'],
    ['has no end', file, 'INVALID_FORM'],
    ['has two files and no end', file + file, 'INVALID_FORM'],
    ['breaks off in a boundary', `${file}--ed`, 'INVALID_FORM'],
    ['breaks off in a header', `${file}--edge\r\nContent-Disposition: form-da`, 'INVALID_FORM'],
    ['breaks off in a part that is skipped', `${file}--edge\r\n\r\nxyz`, 'INVALID_FORM'],
    ['breaks off after an empty file (multer 1338)', `${fileHead.replace('a.txt', '')}\r\n--edg`, 'INVALID_FORM'],
    [
      'ends within the headers of a part (juice-shop 3641)',
      `${file}--edge\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n--edge--\r\n`,
      'INVALID_FORM',
    ],
    ['has an unknown charset and no end', `${fileHead.replace('text/plain', 'text/plain; charset=utf-99')}x`, 'INVALID_FORM'],
    ['has a part without headers', `${file}--edge\r\n\r\nx\r\n${end}`, 'INVALID_FORM'],
    ['has a part that is not form-data', `${file}--edge\r\nContent-Disposition: attachment; name="a"\r\n\r\nx\r\n${end}`, 'INVALID_FORM'],
    ['has another boundary', file + end, 'INVALID_FORM', 'multipart/form-data; boundary=other'],
    ['names no boundary', file + end, 'INVALID_FORM', 'multipart/form-data'],
    ['has a part named __proto__', part('name="__proto__"') + file + end, 'INVALID_FORM'],
    ['has a file named __proto__', part('name="__proto__"; filename="a"') + end, 'INVALID_FORM'],
    ['has a part without a name', part('filename="a"') + end, 'INVALID_FORM'],
    ['has a field without a name', `${part('x=1')}${end}`, 'INVALID_FORM'],
    ['has an endless header', `--edge\r\nContent-Disposition: form-data; name="${'x'.repeat(40_000)}"\r\n\r\nx\r\n${end}`, 'INVALID_FORM'],
    ['has an encoded file', `${fileHead.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: magic\r\n\r\n')}x\r\n${end}`, 'INVALID_FORM'],
    ['has too many parts', part('name="a"; filename=""', '').repeat(1200) + end, 'INVALID_FORM'],
    ['is not a form', '{}', 'UNSUPPORTED_MEDIA_TYPE', 'application/json'],
  ]
  it('are 4xx with a code, and leave nothing', async (t) => {
    const app = await uploadApp(t, {}, echo)
    for (const [what, body, code, type = 'multipart/form-data; boundary=edge'] of cases) {
      for (const copies of [1, 5]) {
        const send = () => app.host.inject({ method: 'POST', path: '/form', body, headers: { 'content-type': type } })
        const responses = await Promise.all(Array.from({ length: copies }, send))
        assert.deepEqual([...new Set(responses.map(({ body: { code: found } }) => found))], [code], what)
        assert.ok(
          responses.every(({ status }) => status >= 400 && status < 500),
          what,
        )
      }
      await app.assertNothingLeft()
    }
    assert.ok(!app.host.logs.some(({ msg }) => msg === 'request failed'))
  })

  it('that a client aborts at any byte leave nothing', async (t) => {
    const app = await uploadApp(t, {}, echo)
    const body = `${file}${part('name="b"')}${fileHead}${'y'.repeat(10_000)}\r\n${end}`
    for (let at = 0; at < body.length; at += at < 600 ? 37 : 1200) {
      const client = await rawClient(app.url)
      client.send(`${head('/form', body.length)}${body.slice(0, at)}`)
      await new Promise(setImmediate)
      client.socket.destroy()
    }
    await eventually(
      'no form arrives',
      async () => (await app.host.inject({ path: '/form' })).status === 405 && (await app.left()).length === 0,
    )
    assert.equal((await app.post('/form', formOf([['a', pngFile()]]))).status, 200)
    await app.assertNothingLeft()
  })

  it('with nested, repeated or inherited names give plain fields', async (t) => {
    const app = await uploadApp(t, {}, echo)
    const form = formOf([
      ['a[b]', '1'],
      ['a.b', '2'],
      ['many', '1'],
      ['many', '2'],
      ['toString', 'x'],
      ['name "ä"', 'two\r\nlines'],
      ['upload', new File(['x'], 'a "b".txt', { type: 'text/x-y' })],
      ['upload', new File(['y'], 'C:\\dir\\..\\b.txt', { type: 'text/plain' })],
    ])
    const { body } = await app.post('/form', form)
    assert.deepEqual(body, {
      body: { 'a[b]': '1', 'a.b': '2', many: ['1', '2'], toString: 'x', 'name "ä"': 'two\r\nlines' },
      files: [
        [
          'upload',
          [
            { originalFilename: 'a b.txt', mimetype: 'text/x-y', size: 1 },
            { originalFilename: 'b.txt', mimetype: 'text/plain', size: 1 },
          ],
        ],
      ],
    })
  })

  it('are read as without the plugin, whatever their fields', async (t) => {
    const app = await uploadApp(t, {}, echo)
    const memory = await createTestHost({
      routes: [
        {
          method: 'POST',
          path: '/form',
          summary: 'x',
          bodyType: 'form',
          handler: ({ input }: { input: { body: unknown } }) => ({ body: input.body }),
        },
      ],
    } as never)
    const names = ['a', 'a', 'b[]', 'ä "x"', '%22', 'x\r\ny', '😀', ' ', 'a.b']
    const values = ['', 'x', 'ä', '\r\n', '--edge', '😀', '1', 'true', '"', '%0a']
    for (let i = 0; i < 30; i++) {
      const form = formOf(
        Array.from(
          { length: 1 + (i % 5) },
          (_, k) => [names[(i * 7 + k * 3) % names.length] as string, values[(i * 3 + k) % values.length] as string] as const,
        ),
      )
      const sent = new Response(form)
      const bytes = Buffer.from(await sent.arrayBuffer())
      const one = { method: 'POST', path: '/form', body: bytes, headers: { 'content-type': sent.headers.get('content-type') ?? '' } }
      const [streamed, buffered] = [await app.host.inject(one), await memory.inject(one)]
      assert.deepEqual(streamed.body.body, buffered.body.body, bytes.toString())
    }
    await memory.stop()
  })
})

describe('at run time', () => {
  it('is not disabled while routes have files, and then other plugins can still be', async (t) => {
    const files = { image: {} }
    const app = await uploadApp(t, {}, ({ route }) => {
      route({ method: 'POST', path: '/image', summary: 'x', bodyType: 'form', files, handler: () => ({}) })
    })
    const { host } = app.host
    await assert.rejects(host.disable('uploads'), {
      code: 'ZIN_PLUGIN_IN_USE',
      message: /reads the files of routes of other plugins: \S+;/,
    })
    const owner = host.http.routes().find(({ path }) => path === '/image')?.plugin as string
    await host.disable(owner)
    await host.disable('uploads')
    await host.enable('uploads')
    await host.enable(owner)
    assert.equal((await app.post('/image', formOf([['image', pngFile()]]))).status, 200)
  })
})

describe('the temporary folder', () => {
  it('is removed at shutdown, with what is in it', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'zin-uploads-test-'))
    let path = ''
    const host = await createTestHost({
      plugins: [uploads({ folder: parent })],
      routes: [
        {
          method: 'POST',
          path: '/a',
          summary: 'x',
          bodyType: 'form',
          handler: async ({ request }: { request: { files: Record<string, Upload> } }) => {
            path = request.files.upload?.filepath ?? ''
            await writeFile(`${path}-beside`, 'x')
          },
        },
      ] as never,
    })
    const body = `${fileHead}text\r\n--edge--\r\n`
    await host.inject({ method: 'POST', path: '/a', body, headers: { 'content-type': 'multipart/form-data; boundary=edge' } })
    assert.equal(existsSync(`${path}-beside`), true)
    await host.stop()
    assert.equal(existsSync(`${path}-beside`), false)
    await rm(parent, { recursive: true })
  })

  it('that cannot be created is an error of the app, and tried again', async (t) => {
    const parent = join(await mkdtemp(join(tmpdir(), 'zin-uploads-test-')), 'later')
    const folder = await uploadApp(t, { folder: parent }, echo)
    assert.equal((await folder.post('/form', formOf([['a', pngFile()]]))).status, 500)
    const { mkdir } = await import('node:fs/promises')
    await mkdir(parent)
    assert.equal((await folder.post('/form', formOf([['a', pngFile()]]))).status, 200)
  })
})

describePlugin(() => [], uploads, { readme: new URL('./README.md', import.meta.url) })
