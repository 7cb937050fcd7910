import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { definePlugin, defineRoute, type Route } from 'zin'
import { compression } from 'zin/plugins/compression'
import { cors } from 'zin/plugins/cors'
import { securityHeaders } from 'zin/plugins/security-headers'
import { createTestHost, type TestHost } from 'zin/testing'
import { staticFiles } from './index.js'

const script = 'export const shop = 1\n'.repeat(200)
const page = '<!doctype html><title>Shop</title>'

const files: Readonly<Record<string, string | Buffer>> = {
  'web/index.html': page,
  'web/about.html': '<!doctype html><title>About</title>',
  'web/guide/index.html': '<!doctype html><title>Guide</title>',
  'web/empty.txt': '',
  'web/digits.txt': '0123456789',
  'web/large.js': script,
  'web/app.js': script,
  'web/app.js.br': brotliCompressSync(script),
  'web/app.js.gz': gzipSync(script),
  'web/backup.tar.gz': gzipSync('a backup'),
  'web/assets/app-4f3c2b1a.js': 'hashed',
  'web/a file & more.txt': 'spaces',
  'web/50%.txt': 'half',
  'web/a%2fb.txt': 'escaped',
  'web/c#?.txt': 'sharp',
  'web/ünïcode.txt': 'unicode',
  'web/unknown.xyzzy': 'unknown',
  'web/no-extension': 'plain',
  'web/.env': 'SECRET=1',
  'web/.git/config': 'SECRET=2',
  'web/guide/.hidden/file.txt': 'SECRET=3',
  'web/.hidden.html': 'SECRET=4',
  'secret/creds.txt': 'SECRET=5',
  'secret/index.html': 'SECRET=6',
  'web-sibling/file.txt': 'SECRET=7',
  'other/file.txt': 'another folder',
  'other/index.html': '<!doctype html><title>Other</title>',
}

const routes: readonly Route[] = [
  defineRoute({ method: 'GET', path: '/api/orders/:id', summary: 'x', handler: () => ({ ok: true }) }),
  defineRoute({ method: 'POST', path: '/api/orders', summary: 'x', handler: () => ({ ok: true }) }),
  defineRoute({ method: 'GET', path: '/digits.txt.json', summary: 'x', handler: () => ({ ok: true }) }),
]

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly bytes: Buffer
  readonly text: string
}

describe('the plugin static-files', () => {
  let folder: string
  let host: TestHost
  /** Runs when a file was found, before it is sent. */
  let meanwhile: (() => void | Promise<unknown>) | undefined
  const between = definePlugin({
    name: 'between',
    version: '1.0.0',
    setup: (ctx) =>
      ctx.use(async (_request, next) => {
        await next()
        await meanwhile?.()
      }),
  })
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'zin-static-'))
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), content)
    }
    const web = join(folder, 'web')
    symlinkSync('../secret/creds.txt', join(web, 'link.txt'))
    symlinkSync('../secret', join(web, 'linked'))
    symlinkSync('/etc/hostname', join(web, 'absolute.txt'))
    symlinkSync('digits.txt', join(web, 'inside.txt'))
    symlinkSync('.env', join(web, 'shown.txt'))
    symlinkSync('nowhere', join(web, 'broken.txt'))
    symlinkSync('loop.txt', join(web, 'loop.txt'))
    symlinkSync('.', join(web, 'itself'))
    symlinkSync('../secret/creds.txt', join(web, 'large.css.br'))
    execFileSync('mkfifo', [join(web, 'pipe.txt')])
    symlinkSync(web, join(folder, 'current'))
    host = await createTestHost({
      listen: true,
      plugins: [
        staticFiles({
          root: join(folder, 'current'),
          immutable: ['assets/'],
          maxAgeSeconds: 60,
          folders: [{ root: join(folder, 'other'), prefix: '/files/' }],
        }),
        cors({ origins: 'https://shop.example' }),
        between(),
      ],
      routes: [...routes],
    })
  })
  after(async () => {
    await host?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Answer> =>
    send(host, path, headers, method)

  const served: readonly (readonly [path: string, type: string, text: string | Buffer])[] = [
    ['/', 'text/html; charset=utf-8', page],
    ['/index.html', 'text/html; charset=utf-8', page],
    ['/about', 'text/html; charset=utf-8', '<!doctype html><title>About</title>'],
    ['/guide/', 'text/html; charset=utf-8', '<!doctype html><title>Guide</title>'],
    ['/digits.txt', 'text/plain; charset=utf-8', '0123456789'],
    ['/digits.txt?v=1', 'text/plain; charset=utf-8', '0123456789'],
    ['/empty.txt', 'text/plain; charset=utf-8', ''],
    ['/large.js', 'text/javascript; charset=utf-8', script],
    ['/a%20file%20&%20more.txt', 'text/plain; charset=utf-8', 'spaces'],
    ['/50%25.txt', 'text/plain; charset=utf-8', 'half'],
    ['/a%252fb.txt', 'text/plain; charset=utf-8', 'escaped'],
    ['/c%23%3F.txt', 'text/plain; charset=utf-8', 'sharp'],
    ['/%C3%BCn%C3%AFcode.txt', 'text/plain; charset=utf-8', 'unicode'],
    ['/unknown.xyzzy', 'application/octet-stream', 'unknown'],
    ['/no-extension', 'application/octet-stream', 'plain'],
    ['/inside.txt', 'text/plain; charset=utf-8', '0123456789'],
    ['/itself/digits.txt', 'text/plain; charset=utf-8', '0123456789'],
    ['/backup.tar.gz', 'application/gzip', gzipSync('a backup')],
    ['/app.js.gz', 'application/gzip', gzipSync(script)],
    ['/files/file.txt', 'text/plain; charset=utf-8', 'another folder'],
    ['/files/', 'text/html; charset=utf-8', '<!doctype html><title>Other</title>'],
  ]
  for (const [path, type, content] of served) {
    it(`serves ${path}, and its head`, async () => {
      const { status, headers, bytes } = await get(path)
      assert.equal(status, 200)
      assert.equal(headers['content-type'], type)
      assert.deepEqual(bytes, Buffer.from(content))
      assert.equal(headers['content-length'], String(bytes.length))
      assert.equal(headers['content-encoding'], undefined)
      assert.equal(headers['accept-ranges'], 'bytes')
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.match(headers.etag ?? '', /^"\d+-\d+(-gzip)?"$/)
      assert.ok(headers['x-request-id'])
      const head = await get(path, {}, 'HEAD')
      assert.deepEqual([head.status, head.headers['content-length'], head.bytes.length], [200, String(bytes.length), 0])
    })
  }

  const hidden = [
    '/.env',
    '/%2eenv',
    '/%2Eenv',
    '/%252eenv',
    '/.git/config',
    '/.hidden',
    '/guide/.hidden/file.txt',
    '/itself/.env',
    '/shown.txt',
    '/link.txt',
    '/linked/creds.txt',
    '/linked/',
    '/linked',
    '/absolute.txt',
    '/broken.txt',
    '/loop.txt',
    '/pipe.txt',
    '/..%2fsecret%2fcreds.txt',
    '/..%5csecret%5ccreds.txt',
    '/guide%2findex.html',
    '/%2e%2e%2fsecret/creds.txt',
    '/%2fetc%2fpasswd',
    '/%252e%252e/secret/creds.txt',
    '/%c0%ae%c0%ae/secret/creds.txt',
    '/..;/secret/creds.txt',
    '/guide//index.html',
    '/digits.txt/',
    '/digits.txt/x',
    '/digits.txt%00.html',
    '/-sibling/file.txt',
    '/files/..%2fsecret/creds.txt',
    '/filesfile.txt',
    '/assets',
    '/assets/',
    '/nothing.txt',
    `/${'a'.repeat(300)}.txt`,
    `/${'a/'.repeat(3000)}`,
  ]
  for (const path of hidden) {
    it(`does not serve ${path.slice(0, 60)}`, async () => {
      const { status, text, headers } = await get(path)
      assert.equal(status, 404)
      assert.equal(JSON.parse(text).code, 'NOT_FOUND')
      assert.match(headers['content-type'] ?? '', /^application\/json/)
      assert.equal(headers.etag, undefined)
    })
  }

  for (const path of ['/../secret/creds.txt', '/%2e%2e/secret/creds.txt', '//etc/passwd', '/%zz', '/a\\..\\b', '/guide/./index.html']) {
    it(`refuses ${path}`, async () => {
      const { status, text } = await get(path)
      assert.ok(status === 400 || status === 404, String(status))
      assert.doesNotMatch(text, /SECRET/)
    })
  }

  it('leaves routes and methods to the app', async () => {
    assert.equal((await get('/api/orders/1')).text, '{"ok":true}')
    assert.equal((await get('/digits.txt.json')).text, '{"ok":true}')
    assert.equal((await get('/api/orders')).status, 405)
    assert.equal((await get('/digits.txt', {}, 'POST')).status, 404)
    assert.equal((await get('/digits.txt', {}, 'DELETE')).status, 404)
  })

  it('redirects to the folder of a page, and from the prefix', async () => {
    for (const [path, location] of [
      ['/guide', '/guide/'],
      ['/guide?a=1&b=%20', '/guide/?a=1&b=%20'],
      ['/files', '/files/'],
      ['/files?x', '/files/?x'],
    ] as const) {
      const { status, headers } = await get(path)
      assert.deepEqual([status, headers.location], [301, location])
    }
  })

  it('sends 304 for what the client has, and the file when it has changed', async () => {
    const { headers } = await get('/digits.txt')
    const etag = String(headers.etag)
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get('/digits.txt', { 'if-none-match': known })
      assert.deepEqual([again.status, again.bytes.length, again.headers.etag], [304, 0, etag], known)
      assert.equal(again.headers['cache-control'], 'public, max-age=60')
      assert.equal(again.headers.vary, 'Origin, Accept-Encoding')
    }
    assert.equal((await get('/digits.txt', { 'if-none-match': '"other"' })).status, 200)
    assert.equal((await get('/digits.txt', { 'if-modified-since': String(headers['last-modified']) })).status, 304)
    assert.equal((await get('/digits.txt', { 'if-none-match': etag }, 'HEAD')).status, 304)

    writeFileSync(join(folder, 'web/changing.txt'), 'one')
    const one = await get('/changing.txt')
    appendFileSync(join(folder, 'web/changing.txt'), ' and two')
    const two = await get('/changing.txt', { 'if-none-match': String(one.headers.etag) })
    assert.deepEqual([two.status, two.text], [200, 'one and two'])
    unlinkSync(join(folder, 'web/changing.txt'))
    assert.equal((await get('/changing.txt')).status, 404)
  })

  it('sends a file as it was found while it grows, and keeps the connection', async () => {
    const path = join(folder, 'web/growing.txt')
    for (const text of ['one', '', script]) {
      writeFileSync(path, text)
      meanwhile = () => appendFileSync(path, ' and two')
      const { bytes, headers, status } = await get('/growing.txt')
      assert.deepEqual([status, headers['content-length'], bytes.toString()], [200, String(text.length), text])
      meanwhile = undefined
      assert.equal((await get('/growing.txt')).text, `${text} and two`)
    }
    unlinkSync(path)
  })

  it('sends all of a file, however long other middleware takes meanwhile', async () => {
    const path = join(folder, 'web/large.js')
    // Longer than it takes to open and read the file.
    meanwhile = async () => {
      for (let i = 0; i < 20; i++) await readFile(path)
    }
    const { bytes, status } = await get('/large.js')
    const empty = await get('/empty.txt')
    meanwhile = undefined
    assert.deepEqual([status, bytes.toString(), empty.status], [200, script, 200])
  })

  it('sends ranges', async () => {
    const range = async (header: string, more: Readonly<Record<string, string>> = {}) => {
      const { status, headers, text } = await get('/digits.txt', { range: header, ...more })
      return [status, headers['content-range'], text]
    }
    const { headers } = await get('/digits.txt')
    assert.deepEqual(await range('bytes=2-4'), [206, 'bytes 2-4/10', '234'])
    assert.deepEqual(await range('bytes=-3'), [206, 'bytes 7-9/10', '789'])
    assert.deepEqual(await range('bytes=7-'), [206, 'bytes 7-9/10', '789'])
    assert.deepEqual(await range('bytes=0-1,3-4'), [200, undefined, '0123456789'])
    assert.deepEqual(await range('bytes=5-2'), [200, undefined, '0123456789'])
    assert.deepEqual(await range('bytes=2-4', { 'if-range': String(headers.etag) }), [206, 'bytes 2-4/10', '234'])
    assert.deepEqual(await range('bytes=2-4', { 'if-range': String(headers['last-modified']) }), [206, 'bytes 2-4/10', '234'])
    assert.deepEqual(await range('bytes=2-4', { 'if-range': '"old"' }), [200, undefined, '0123456789'])
    const [status, contentRange, text] = await range('bytes=10-')
    assert.deepEqual([status, contentRange, JSON.parse(String(text)).code], [416, 'bytes */10', 'RANGE_NOT_SATISFIABLE'])
    assert.equal((await get('/empty.txt', { range: 'bytes=0-' })).status, 416)
    assert.equal((await get('/empty.txt', { range: 'bytes=-1' })).status, 200)
    // A weak tag never matches, and what the client has already outranks a part of it (srvx 275).
    assert.deepEqual(await range('bytes=2-4', { 'if-range': `W/${headers.etag}` }), [200, undefined, '0123456789'])
    assert.equal((await range('bytes=2-4', { 'if-none-match': String(headers.etag) }))[0], 304)
    const head = await get('/digits.txt', { range: 'bytes=2-4' }, 'HEAD')
    assert.deepEqual([head.status, head.headers['content-length']], [200, '10'])
  })

  it('sends the compressed form that the client accepts', async () => {
    const form = async (accept: string) => {
      const { headers, bytes } = await get('/app.js', { 'accept-encoding': accept })
      const { 'content-encoding': coding, 'content-type': type, vary, etag } = headers
      const text = coding === 'br' ? brotliDecompressSync(bytes) : coding === 'gzip' ? gunzipSync(bytes) : bytes
      assert.equal(text.toString(), script)
      assert.equal(type, 'text/javascript; charset=utf-8')
      assert.match(vary ?? '', /Accept-Encoding/)
      return { coding, etag }
    }
    const [br, gzip, plain] = [await form('gzip, br'), await form('gzip'), await form('identity')]
    assert.deepEqual([br.coding, gzip.coding, plain.coding], ['br', 'gzip', undefined])
    assert.equal(new Set([br.etag, gzip.etag, plain.etag]).size, 3)
    assert.equal((await form('gzip;q=0, br;q=0')).coding, undefined)
    assert.equal((await form('br;q=0, gzip')).coding, 'gzip')
    assert.equal((await get('/large.css', { 'accept-encoding': 'br' })).status, 404)
  })

  it('lets browsers keep files with a hash for a year, others as long as configured, and pages not', async () => {
    const control = async (path: string) => (await get(path)).headers['cache-control']
    assert.equal(await control('/assets/app-4f3c2b1a.js'), 'public, max-age=31536000, immutable')
    assert.equal(await control('/digits.txt'), 'public, max-age=60')
    assert.equal(await control('/about'), 'no-cache')
    assert.equal(await control('/files/file.txt'), 'no-cache')
  })

  it('has the headers for other origins', async () => {
    const { headers } = await get('/digits.txt', { origin: 'https://shop.example' })
    assert.equal(headers['access-control-allow-origin'], 'https://shop.example')
    assert.equal(headers.vary, 'Origin, Accept-Encoding')
  })

  it('survives files that cannot be opened, and clients that leave', async (t) => {
    const path = join(folder, 'web/closed.txt')
    writeFileSync(path, 'closed')
    chmodSync(path, 0)
    // Root may open it.
    if (process.getuid?.() !== 0) assert.equal((await get('/closed.txt')).status, 500)
    else t.diagnostic('as root, no file is closed')
    writeFileSync(join(folder, 'web/huge.bin'), Buffer.alloc(20_000_000))
    const request = httpGet(`${host.url}/huge.bin`)
    const [body] = (await once(request, 'response', { signal: AbortSignal.timeout(10_000) })) as [IncomingMessage]
    await once(body, 'data', { signal: AbortSignal.timeout(10_000) })
    body.on('error', () => undefined)
    request.destroy()
    assert.equal((await get('/digits.txt')).status, 200)
  })

  it('follows a link to the folder when a deployment changes it', async () => {
    mkdirSync(join(folder, 'next'))
    writeFileSync(join(folder, 'next/version.txt'), '2')
    symlinkSync(join(folder, 'next'), join(folder, 'new'))
    renameSync(join(folder, 'new'), join(folder, 'current'))
    assert.equal((await get('/version.txt')).text, '2')
    symlinkSync(join(folder, 'web'), join(folder, 'new'))
    renameSync(join(folder, 'new'), join(folder, 'current'))
  })

  describe('with a page that has a router of its own', () => {
    let app: TestHost
    before(async () => {
      app = await createTestHost({
        listen: true,
        plugins: [staticFiles({ root: join(folder, 'web'), spa: true }), compression({ minBytes: 100 }), securityHeaders()],
        routes: [...routes],
      })
    })
    after(() => app.stop())

    it('serves the page for its paths only', async () => {
      const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
      for (const path of ['/orders', '/orders/4711', '/a/b/c', '/orders/']) {
        assert.equal((await send(app, path, html)).text, page, path)
        // `fetch`, axios and curl: they must see that the API has no such route.
        for (const accept of ['application/json', '*/*', 'application/json, text/plain, */*', undefined])
          assert.equal((await send(app, path, accept === undefined ? {} : { accept })).status, 404, `${path} for ${accept}`)
      }
      assert.equal((await send(app, '/', { accept: '*/*' })).text, page)
      assert.equal((await send(app, '/missing.js', html)).status, 404)
      assert.equal((await send(app, '/.env', html)).status, 404)
      assert.equal((await send(app, '/orders', html, 'POST')).status, 404)
      assert.equal((await send(app, '/api/orders', html)).status, 405)
      assert.equal((await send(app, '/orders', html)).headers['cache-control'], 'no-cache')
    })

    it('compresses what has no compressed form, with a weak ETag that is recognized', async () => {
      const { headers, bytes } = await send(app, '/large.js', { 'accept-encoding': 'gzip' })
      assert.equal(headers['content-encoding'], 'gzip')
      assert.equal(gunzipSync(bytes).toString(), script)
      assert.match(headers.etag ?? '', /^W\//)
      const again = await send(app, '/large.js', { 'accept-encoding': 'gzip', 'if-none-match': String(headers.etag) })
      assert.equal(again.status, 304)
      const part = await send(app, '/large.js', { 'accept-encoding': 'gzip', range: 'bytes=0-499' })
      assert.deepEqual([part.status, part.headers['content-encoding'], part.text], [206, undefined, script.slice(0, 500)])
    })

    it('gives pages the policy for pages, and everything else that of the API', async () => {
      assert.match(String((await send(app, '/orders', { accept: 'text/html' })).headers['content-security-policy']), /^default-src 'self';/)
      assert.match(String((await send(app, '/large.js', {})).headers['content-security-policy']), /^default-src 'none';/)
      assert.match(String((await send(app, '/missing.js', {})).headers['content-security-policy']), /^default-src 'none';/)
    })
  })
})

function send(host: TestHost, path: string, headers: Readonly<Record<string, string>>, method = 'GET'): Promise<Answer> {
  const { hostname, port } = new URL(host.url)
  return new Promise((resolve, reject) => {
    const request = httpGet({ hostname, port, path, method, headers }, async (response) => {
      const bytes = Buffer.concat(await response.toArray())
      resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() })
    })
    request.on('error', reject)
  })
}

describe('an invalid configuration of static-files', () => {
  const wrong: readonly (readonly [what: string, options: () => Parameters<typeof staticFiles>[0], problem: RegExp])[] = [
    ['no folder', () => ({}), /set "root"/],
    ['the folder of the app', () => ({ root: '.' }), /contains the app, whose sources and settings would be public/],
    ['a folder above the app', () => ({ root: '..' }), /contains the app/],
    ['a prefix without a slash', () => ({ root: 'web', prefix: 'assets' }), /prefix/],
    ['a prefix with a parameter', () => ({ root: 'web', prefix: '/:id' }), /prefix/],
    ['the same prefix twice', () => ({ root: 'a', prefix: '/a', folders: [{ root: 'b', prefix: '/a/' }] }), /two folders have the prefix/],
    ['an unknown option of a folder', () => ({ root: 'a', folders: [{ root: 'b', single: true } as never] }), /folders/],
  ]
  for (const [what, options, problem] of wrong)
    it(`${what} stops the boot`, () => assert.rejects(createTestHost({ plugins: [staticFiles(options())] }), problem))

  it('a folder that another plugin creates in its start is not missing, whatever the order', async () => {
    const keeper = definePlugin({
      name: 'keeper',
      version: '1.0.0',
      setup: () => undefined,
      start: ({ host }) => void mkdirSync(join(host.app.rootDir, 'kept')),
    })
    const env = { NODE_ENV: 'production', APP_KEY: 'x'.repeat(40) }
    for (const plugins of [() => [staticFiles({ root: 'kept' }), keeper()], () => [keeper(), staticFiles({ root: 'kept' })]])
      await (await createTestHost({ plugins: plugins(), env })).stop()
  })

  it('a missing folder stops the boot in production, and is a warning elsewhere', async () => {
    const plugins = () => [staticFiles({ root: 'does-not-exist' })]
    const host = await createTestHost({ plugins: plugins() })
    try {
      assert.match(host.logText(), /the folder .*does-not-exist does not exist; build the files/)
      assert.equal((await host.inject({ path: '/index.html' })).status, 404)
    } finally {
      await host.stop()
    }
    await assert.rejects(
      createTestHost({ plugins: plugins(), env: { NODE_ENV: 'production', APP_KEY: 'x'.repeat(40) } }),
      /does not exist; build/,
    )
  })
})
