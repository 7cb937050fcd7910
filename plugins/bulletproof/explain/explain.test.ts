import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { devicesService } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { sha256Hex } from 'zin/signing'
import { type Sending, sharedSecret, type TestApp, type TestAppOptions, withApp } from '../testing/app.js'
import { parseCapture, readCapture } from './request-file.js'

/** All state of the app is stored outside of its memory, so that the command can read it. */
const lasting: TestAppOptions = { plugins: [database(), kv()] }

interface Explained {
  readonly code: number
  readonly text: string
  readonly json: {
    readonly passed: boolean
    readonly canonical?: string
    readonly firstFailed?: { readonly layer: number; readonly name: string; readonly why: string; readonly advice: string }
    readonly layers: readonly { readonly layer: number; readonly verdict: string; readonly why: string }[]
    readonly bodySha256: { readonly given: string; readonly expected: string }
  }
}

async function explainFile(
  app: TestApp,
  content: string | Buffer,
  options: Readonly<Record<string, string>> = {},
  env = {},
): Promise<Explained> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-explain-'))
  await writeFile(join(folder, 'request'), content)
  const found = app.host.host.commands().find(({ command }) => command.name === 'auth:explain')
  assert.ok(found)
  const out: string[] = []
  const run = async (json: boolean): Promise<number> => {
    const print = {
      json,
      line: (line = '') => void out.push(line),
      error: (line: string) => void out.push(line),
      table: (rows: readonly unknown[]) => void out.push(...rows.map((row) => JSON.stringify(row))),
      record: (value: unknown) => void out.push(JSON.stringify(value)),
    }
    return (await found.command.run({ args: { file: 'request' }, options, env, cwd: folder, print } as never)) ?? 0
  }
  try {
    const code = await run(false)
    const text = out.splice(0).join('\n')
    assert.equal(await run(true), code)
    return { code, text, json: JSON.parse(out[0] ?? '{}') }
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function capture(app: TestApp, sending: Sending = {}): Promise<string> {
  const { method = 'GET', path = '/api/me', body = '' } = sending
  const headers = { host: 'app.example', ...(await app.headersOf(sending)) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\r\n')
}

const note: Sending = { method: 'POST', path: '/api/notes?a=1', body: '{"a":1}' }

describe('zin auth:explain', () => {
  it('exits with 0 when every layer passes, for text, LF line ends and JSON', () =>
    withApp(lasting, async (app) => {
      const text = await capture(app, note)
      const headers = await app.headersOf(note)
      for (const content of [
        text,
        text.replaceAll('\r\n', '\n'),
        JSON.stringify({ method: 'post', url: 'https://app.example/api/notes?a=1', headers, body: note.body }),
      ]) {
        const { code, json } = await explainFile(app, content)
        assert.deepEqual([code, json.passed, json.firstFailed], [0, true, undefined], JSON.stringify(json.layers))
        assert.equal(json.layers.length, 9)
      }
    }))

  const cases: readonly (readonly [layer: number, why: RegExp, make: (app: TestApp) => Promise<string>])[] = [
    [1, /no bearer token/, (app) => capture(app, { token: undefined })],
    [1, /signature/, (app) => capture(app, { token: `${app.token.slice(0, -4)}AAAA` })],
    [
      2,
      /revoked/,
      async (app) => {
        const tokens = app.service(tokensService)
        const { token, claims } = await tokens.issue({ sub: '7', deviceId: app.deviceId })
        await tokens.revoke(claims)
        return capture(app, { token })
      },
    ],
    [3, /missing x-sig-nonce/, (app) => capture(app, { headers: { 'x-sig-nonce': undefined } })],
    [3, /malformed x-sig-timestamp/, (app) => capture(app, { headers: { 'x-sig-timestamp': '1e12' } })],
    [4, /too old/, (app) => capture(app, { skew: -61_000 })],
    [4, /ahead/, (app) => capture(app, { skew: 61_000 })],
    [
      5,
      /used before/,
      async (app) => {
        const nonce = crypto.randomUUID()
        assert.equal((await app.send({ nonce })).status, 200)
        return capture(app, { nonce })
      },
    ],
    [6, /does not match with the secret of the device/, (app) => capture(app, { secret: 'another-secret' })],
    [6, /signed with the shared secret, but the key id belongs to a device/, (app) => capture(app, { secret: sharedSecret })],
    [6, /base64/, encoded],
    [6, /without the query/, async (app) => (await capture(app, { path: '/api/me' })).replace('/api/me', '/api/me?a=1')],
    [6, /signed the method POST/, async (app) => (await capture(app, { method: 'POST' })).replace('POST', 'GET')],
    [6, /body is not the one/, async (app) => (await capture(app, note)).replace('{"a":1}', '{"a":2}')],
    [6, /the request target is ambiguous/, async (app) => (await capture(app)).replace('/api/me', '//x/api/me')],
    [
      6,
      /removed/,
      async (app) =>
        app
          .service(devicesService)
          .remove(app.deviceId)
          .then(() => capture(app)),
    ],
    [7, /device id is not the key id/, (app) => capture(app, { headers: { 'x-sig-device-id': 'dev_x' } })],
    [7, /another user/, async (app) => capture(app, { token: await app.tokenWith({ sub: '8' }) })],
    [8, /time zone/, async (app) => capture(app, { token: await app.tokenWith({ tz: 'Europe/Paris' }) })],
    [9, /user agent/, async (app) => capture(app, { token: await app.tokenWith({ uaHash: sha256Hex('tests/1') }) })],
  ]
  for (const [layer, why, make] of cases) {
    it(`names layer ${layer} and the reason /${why.source}/, with advice and without a secret`, () =>
      withApp(lasting, async (app) => {
        const { code, json, text } = await explainFile(app, await make(app))
        assert.deepEqual([code, json.firstFailed?.layer], [1, layer], JSON.stringify(json.layers))
        assert.match(json.firstFailed?.why ?? '', why)
        assert.ok(json.firstFailed?.advice)
        assert.ok(text.includes(`Layer ${layer}, ${json.firstFailed?.name}: `))
        for (const hidden of [app.secret, sharedSecret, app.token]) assert.ok(!`${text}${JSON.stringify(json)}`.includes(hidden))
      }))
  }

  it('advises a client that signs with both profiles to use one', () =>
    withApp(lasting, async (app) => {
      const input = 'zin=("@method");created=1763690000;keyid="dev_1";tag="zin-bulletproof"'
      const { json } = await explainFile(app, await capture(app, { headers: { 'signature-input': input } }))
      assert.deepEqual([json.firstFailed?.layer, json.firstFailed?.why], [3, 'signed with both profiles'])
      assert.match(json.firstFailed?.advice ?? '', /^use one profile/)
    }))

  it('shows the signed text with its line feeds, and both hashes of the body', () =>
    withApp(lasting, async (app) => {
      const { text, json } = await explainFile(app, (await capture(app, note)).replace('{"a":1}', '{"a":2}'))
      assert.match(text, /\n {2}POST\\n\n {2}\/api\/notes\\n\n {2}\?a=1\\n\n {2}\d{13}\\n\n {2}[\w-]{36}\\n\n {2}[0-9a-f]{64}\n/)
      assert.deepEqual(json.bodySha256, { given: sha256Hex('{"a":1}'), expected: sha256Hex('{"a":2}') })
    }))

  it('checks at the requested time', () =>
    withApp(lasting, async (app) => {
      const content = await capture(app)
      const then = app.clock.now()
      app.clock.advance(2 * 3_600_000)
      assert.equal((await explainFile(app, content)).json.firstFailed?.layer, 1)
      for (const at of [String(then), new Date(then).toISOString()]) assert.equal((await explainFile(app, content, { at })).code, 0)
      assert.match(await explainText(app, content, { at: 'noon' }), /--at takes ms/)
    }))

  it('reads the secret of a device in the memory of the running app from the environment', () =>
    withApp({}, async (app) => {
      const { json } = await explainFile(
        app,
        await capture(app, { keyId: 'dev_elsewhere', secret: 'its-secret', token: await app.tokenWith({ deviceId: undefined }) }),
      )
      assert.deepEqual([json.firstFailed, json.layers[5]?.verdict], [undefined, 'not checked'])
      assert.match(json.layers[5]?.why ?? '', /--secret-env/)
      const content = await capture(app, {
        keyId: 'dev_elsewhere',
        secret: 'its-secret',
        token: await app.tokenWith({ deviceId: undefined }),
      })
      const given = await explainFile(app, content, { 'secret-env': 'DEVICE' }, { DEVICE: 'its-secret' })
      assert.deepEqual(
        given.json.layers.map(({ verdict }) => verdict).join(),
        'passed,not checked,passed,passed,not checked,passed,passed,passed,passed',
      )
      assert.match(await explainText(app, content, { 'secret-env': 'NONE' }), /--secret-env names NONE/)
    }))

  it('reports that tokens cannot be checked without a token key', () =>
    withApp({ env: { APP_KEY: '' } }, async (app) => {
      const { json, text } = await explainFile(app, await capture(app))
      assert.deepEqual([json.firstFailed, json.layers[0]?.verdict], [undefined, 'not checked'])
      assert.match(text, /neither JWT_SECRET nor APP_KEY is set/)
    }))
})

/** Signs like a client that decodes the secret before use. */
async function encoded(app: TestApp): Promise<string> {
  const headers = await app.headersOf()
  const text = ['GET', '/api/me', '', headers['x-sig-timestamp'], headers['x-sig-nonce'], headers['x-sig-body-sha256']].join('\n')
  return capture(app, {
    headers: { ...headers, 'x-sig-signature': createHmac('sha256', Buffer.from(app.secret, 'base64')).update(text).digest('hex') },
  })
}

async function explainText(app: TestApp, content: string, options: Readonly<Record<string, string>>): Promise<string> {
  const out: string[] = []
  const found = app.host.host.commands().find(({ command }) => command.name === 'auth:explain')
  const print = { json: false, error: (line: string) => void out.push(line) }
  assert.equal(await found?.command.run({ args: { file: 'request' }, options, env: {}, cwd: '/', print } as never), 2)
  assert.ok(content.length > 0)
  return out.join('\n')
}

describe('a captured request', () => {
  it('keeps repeated headers, and loses its chunk framing and any bytes after its Content-Length', () => {
    const chunked = parseCapture(
      Buffer.from('POST /a HTTP/1.1\r\nX-A: 1\r\nX-A: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n'),
    )
    assert.deepEqual([chunked.rawHeaders.slice(0, 4), chunked.body.toString()], [['X-A', '1', 'X-A', '2'], 'abc'])
    const longer = parseCapture(Buffer.from('\ufeffPOST /a HTTP/2\nContent-Length: 2\n\nab\n'))
    assert.deepEqual([longer.target, longer.body.toString(), longer.notes.length], ['/a', 'ab', 1])
    const headers = [
      ['X-A', '1'],
      ['X-A', ['2', '3']],
    ]
    const json = parseCapture(Buffer.from(JSON.stringify({ url: 'http://H.example:1/p?q#f', headers, bodyBase64: '/w==' })))
    assert.deepEqual(
      [json.target, json.rawHeaders, json.body],
      ['/p?q', ['host', 'h.example:1', 'X-A', '1', 'X-A', '2', 'X-A', '3'], Buffer.from([0xff])],
    )
  })

  it('with a missing or unreadable file causes an error with the file and the fix', async () => {
    const missing = join(import.meta.dirname, 'nofile')
    await assert.rejects(readCapture(missing), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'AUTH_EXPLAIN_FILE')
      assert.ok(error.message.includes(`${missing}: there is no such file; pass a file that holds the request`))
      return true
    })
    await assert.rejects(readCapture(import.meta.dirname), { code: 'AUTH_EXPLAIN_FILE', message: /EISDIR.*; pass a file/ })
  })

  it('that cannot be parsed causes an error with the reason, without its text', () => {
    for (const text of [
      '',
      'canary',
      'GET\n',
      'GET /a\ncanary canary\n',
      '{canary',
      '{}',
      '{"url":"/","body":{"canary":1}}',
      '{"url":"/","headers":{"a b":"canary"}}',
    ]) {
      assert.throws(
        () => parseCapture(Buffer.from(text)),
        (error: Error & { code?: string }) => error.code === 'AUTH_EXPLAIN_FILE' && !error.message.includes('canary'),
        text,
      )
    }
  })
})
