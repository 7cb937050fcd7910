import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { makeApp, route } from './test-support.js'
import type { Upload } from './upload.js'

type Files = Record<string, Upload | Upload[]>

const shown = ({ originalFilename, mimetype, size, filepath }: Upload) => [originalFilename, mimetype, size, readFileSync(filepath, 'utf8')]

/** Returns the form as a handler receives it. */
const form = route({
  method: 'POST',
  path: '/form',
  bodyType: 'form',
  bodyLimit: 2_000_000,
  handler: (ctx) => {
    const { files } = ctx.request as unknown as { files?: Files }
    return { body: ctx.input.body, files: Object.entries(files ?? {}).map(([name, file]) => [name, [file].flat().map(shown)]) }
  },
})

const type = 'multipart/form-data; boundary=edge'
const part = (disposition: string, content: string, ...headers: string[]): string =>
  ['--edge', `Content-Disposition: form-data; ${disposition}`, ...headers, '', content, ''].join('\r\n')

test('a form encoded by fetch is parsed to the original values', async (t) => {
  const { app } = makeApp(t, [form])
  const filled = new FormData()
  filled.append('name "ä"', 'two\r\nlines')
  filled.append('many', '1')
  filled.append('many', '2')
  filled.append('toString', 'x')
  filled.append('upload', new File(['\r\n--\r\n--edg\r'], 'a "b".txt', { type: 'text/x-y' }))
  filled.append('empty', new File([], 'none'))
  const sent = new Response(filled)
  const headers = { 'content-type': sent.headers.get('content-type') ?? '' }
  const { status, body } = await app.inject({ method: 'POST', path: '/form', body: Buffer.from(await sent.arrayBuffer()), headers })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(body, {
    body: { 'name "ä"': 'two\r\nlines', many: ['1', '2'], toString: 'x' },
    files: [
      ['upload', [['a "b".txt', 'text/x-y', 12, '\r\n--\r\n--edg\r']]],
      ['empty', [['none', 'application/octet-stream', 0, '']]],
    ],
  })
})

test('other encodings of a form are supported', async (t) => {
  const { app } = makeApp(t, [form])
  const body = [
    'a preamble\r\n',
    part('name=token', 'a'),
    part('name="; filename=no"', 'b'),
    part('name="coded"', Buffer.from('ä').toString('base64'), 'Content-Transfer-Encoding: BASE64'),
    part("name=f; filename=a.txt; filename*=utf-8''a.txt", 'c'),
    '--edge \r\ncontent-disposition:form-data;name="lower"\r\n\r\n\r\n--edge--\r\nan epilogue',
  ].join('')
  const response = await app.inject({
    method: 'POST',
    path: '/form',
    body,
    headers: { 'content-type': 'Multipart/Form-Data; Boundary="edge"' },
  })
  assert.deepEqual(response.body, {
    body: { token: 'a', '; filename=no': 'b', coded: 'ä', lower: '' },
    files: [['f', [['a.txt', 'text/plain', 1, 'c']]]],
  })
})

// The final boundary is added to each.
const refused: readonly (readonly [what: string, body: string, contentType?: string])[] = [
  ['has a part named __proto__', part('name="__proto__"', 'x')],
  ['has a file named __proto__', part('name="__proto__"; filename="a"', 'x')],
  ['has a part without a name', part('filename="a"', 'x')],
  ['has a part that is not form-data', '--edge\r\nContent-Disposition: attachment; name="a"\r\n\r\nx\r\n'],
  ['has a part without headers', '--edge\r\n\r\nx\r\n'],
  ['has a header without an end', `--edge\r\nContent-Disposition: form-data; name="${'x'.repeat(20_000)}"\r\n\r\nx\r\n`],
  ['has too many parts', part('name="a"', '').repeat(1001)],
  ['has too many files', part('name="a"; filename="b"', '').repeat(1001)],
  ['names no boundary', part('name="a"', 'x'), 'multipart/form-data'],
]
for (const [what, body, contentType = type] of refused) {
  test(`a multipart form that ${what} is 400`, async (t) => {
    const { app, failures } = makeApp(t, [form])
    const response = await app.inject({
      method: 'POST',
      path: '/form',
      body: `${body}--edge--\r\n`,
      headers: { 'content-type': contentType },
    })
    assert.deepEqual([response.status, response.body.code], [400, 'INVALID_FORM'])
    assert.deepEqual(failures, [])
  })
}

test('a urlencoded form with too many fields is refused, not truncated', async (t) => {
  const { app } = makeApp(t, [form])
  const send = (body: string) =>
    app.inject({ method: 'POST', path: '/form', body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
  assert.equal((await send('a=1&'.repeat(1001))).body.code, 'INVALID_FORM')
  assert.equal((await send('a=1&'.repeat(900))).body.body.a.length, 900)
  assert.deepEqual((await send('a[b]=1&__proto__=x&__proto__[y]=2')).body.body, { 'a[b]': '1', '__proto__[y]': '2' })
})
