import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { definePlugin, Type } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { compression } from 'zin/plugins/compression'
import { cors } from 'zin/plugins/cors'
import { database } from 'zin/plugins/database'
import { health } from 'zin/plugins/health'
import { jwt, role } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { login } from 'zin/plugins/login'
import { rateLimit } from 'zin/plugins/rate-limit'
import { securityHeaders } from 'zin/plugins/security-headers'
import { sessions } from 'zin/plugins/sessions'
import { uploads } from 'zin/plugins/uploads'
import { websocket, websocketService } from 'zin/plugins/websocket'
import { createTestHost, type TestHost } from 'zin/testing'
import { launch } from '../scripts/testing/chromium.js'
import { eventually } from '../scripts/testing/eventually.js'

const email = 'ada@example.com'
const password = 'correct horse battery staple'

interface Globals {
  readonly signer: typeof import('zin/signer')
}

/** What a page knows of a response. */
interface Seen {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: as JSON.parse gives it
  readonly body: any
  readonly headers: Readonly<Record<string, string>>
}

/** A page on an origin of its own. */
async function startPage(hostname: string): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer((_req, res) => void res.setHeader('content-type', 'text/html').end('<!doctype html><title>Shop</title>'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, origin: `http://${hostname}:${(server.address() as AddressInfo).port}` }
}

/** What requests have changed. */
interface Changes {
  readonly orders: string[]
  readonly notes: string[]
  readonly pictures: number[]
  readonly messages: string[]
}

/** The part of the app that is not ours. */
const shop = (changes: Changes) =>
  definePlugin({
    name: 'shop',
    version: '1.0.0',
    uses: { sockets: websocketService },
    setup({ route, socket, services }) {
      route({
        method: 'POST',
        path: '/orders',
        summary: 'Orders',
        use: ['auth'],
        body: Type.Object({ product: Type.String() }, { additionalProperties: false }),
        bodyLimit: 1000,
        handler: async ({ input, state }) => {
          changes.orders.push(input.body.product)
          await services.sockets.publish(`user:${state.user.sub}`, { ordered: input.body.product })
          return { product: input.body.product, by: state.user.email }
        },
      })
      route({ method: 'GET', path: '/catalog', summary: 'Much text', handler: () => ({ text: 'chair '.repeat(2000) }) })
      route({
        method: 'POST',
        path: '/notes',
        summary: 'A form',
        bodyType: 'form',
        body: Type.Object({ note: Type.String() }, { additionalProperties: false }),
        handler: ({ input, session }) => {
          const before = session.user?.email ?? 'nobody'
          changes.notes.push(input.body.note)
          return { note: input.body.note, by: before }
        },
      })
      route({
        method: 'POST',
        path: '/pictures',
        summary: 'An upload',
        use: ['auth'],
        bodyType: 'form',
        files: { picture: { types: ['image/png'] } },
        handler: ({ request: { files } }) => {
          changes.pictures.push(files.picture.size)
          return { size: files.picture.size }
        },
      })
      route({ method: 'GET', path: '/admin', summary: 'For others', use: ['auth', role('admin')], handler: () => ({ ok: true }) })
      route({ method: 'GET', path: '/few', summary: 'Limited', use: ['rateLimit:few'], handler: () => ({ ok: true }) })
      socket({
        path: '/updates',
        use: ['auth'],
        message: Type.Object({ text: Type.String() }),
        onOpen: (client) => {
          client.join(`user:${client.state.user.sub}`)
          client.send({ hello: client.state.user.email })
        },
        handler: (client, { text }) => {
          changes.messages.push(text)
          client.send({ heard: text })
        },
      })
    },
  })()

describe('an app with the plugins for the web, in Chromium from pages of other origins', () => {
  const changes: Changes = { orders: [], notes: [], pictures: [], messages: [] }
  let folder: string
  let host: TestHost
  let browser: Browser
  let script: string
  let app: string
  /** A page that the app lists; one of the same site that it does not, to which browsers send its cookies; and one of another site. */
  const pages: Record<'listed' | 'sameSite' | 'otherSite', Awaited<ReturnType<typeof startPage>>> = {} as never
  let context: BrowserContext
  let page: Page

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-web-'))
    pages.listed = await startPage('localhost')
    pages.sameSite = await startPage('localhost')
    pages.otherSite = await startPage('127.0.0.1')
    host = await createTestHost({
      listen: true,
      env: { APP_KEY: 'app-key-canary-0123456789abcdefghijk', SESSION_SECRET: 'session-canary-0123456789abcdefghijk' },
      plugins: [
        cors({
          origins: [pages.listed.origin],
          credentials: true,
          exposedHeaders: ['x-csrf-token', 'ratelimit', 'ratelimit-policy', 'retry-after'],
        }),
        securityHeaders(),
        compression(),
        rateLimit({ limit: 10_000, windowMs: 3_600_000, limits: { few: { limit: 2, windowMs: 3_600_000 } } }),
        database(),
        kv(),
        health(),
        jwt(),
        bulletproof(),
        sessions(),
        login({ verifyCredentials: async (given, secret) => (given === email && secret === password ? { id: '7', email } : undefined) }),
        uploads({ folder, maxFileSize: 300_000 }),
        websocket({ origins: [pages.listed.origin] }),
        shop(changes),
      ],
    })
    app = `http://localhost:${new URL(host.url).port}`
    const contents = "import * as signer from 'zin/signer'\nObject.assign(globalThis, { signer })"
    const stdin = { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) }
    const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm', platform: 'neutral', target: 'es2022' })
    script = outputFiles[0]?.text ?? ''
    browser = await launch()
    context = await browser.newContext()
    page = await open(pages.listed.origin)
  })
  after(async () => {
    await browser?.close()
    for (const { server } of Object.values(pages)) server.close()
    await host?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function open(origin: string): Promise<Page> {
    const opened = await context.newPage()
    await opened.goto(origin)
    await opened.addScriptTag({ type: 'module', content: script })
    await opened.waitForFunction(() => 'signer' in globalThis)
    return opened
  }

  /** Sends a request with cookies from a page. Rejects if the browser hides the response. */
  const send = (from: Page, path: string, init: RequestInit = {}): Promise<Seen> =>
    from.evaluate(
      async ([url, given]) => {
        const response = await fetch(url, { credentials: 'include', ...given })
        const text = await response.text()
        const headers = Object.fromEntries(response.headers)
        return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text, headers }
      },
      [`${app}${path}`, init as object] as const,
    )

  const json = (body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

  /** Posts a form from a page of an origin as a click on its button does, and returns the status of the page that follows. */
  async function postForm(origin: string, fields: Readonly<Record<string, string>>, enctype: string): Promise<number> {
    const tab = await context.newPage()
    await tab.goto(origin)
    const arrived = tab.waitForNavigation({ url: `${app}/notes` })
    await tab.evaluate(
      ([action, values, type]) => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action, enctype: type })
        for (const [name, value] of Object.entries(values)) form.append(Object.assign(document.createElement('input'), { name, value }))
        document.body.append(form)
        form.submit()
      },
      [`${app}/notes`, fields, enctype] as const,
    )
    const response = await arrived
    await tab.close()
    return response?.status() ?? 0
  }

  /** Opens a socket from a page; returns the messages, one of which is the answer to `text`, and how it ended if it did. */
  const talk = (from: Page, text: string): Promise<readonly unknown[]> =>
    from.evaluate(
      ([url, said]) =>
        new Promise<readonly unknown[]>((resolve) => {
          const seen: unknown[] = []
          const ws = new WebSocket(url)
          ws.onopen = () => ws.send(JSON.stringify({ text: said }))
          ws.onmessage = ({ data }) => {
            seen.push(JSON.parse(data))
            if (seen.length === 2) ws.close(1000)
          }
          ws.onclose = ({ code }) => resolve([...seen, code])
        }),
      [`${app.replace('http', 'ws')}/updates`, text] as const,
    )

  /** Logs in with a new browser profile; returns the token that its session needs. */
  async function logIn(): Promise<string> {
    await context.clearCookies()
    const { status, headers } = await send(page, '/auth/login', json({ email, password }))
    assert.equal(status, 200)
    return headers['x-csrf-token'] ?? ''
  }

  it('logs in, reads the token, and sends JSON, forms and an upload in the session', async () => {
    const token = await logIn()
    const order = await send(page, '/orders', json({ product: 'chair' }, { 'x-csrf-token': token }))
    assert.deepEqual([order.status, order.body], [200, { product: 'chair', by: email }])
    const { csrfToken } = (await send(page, '/auth/session')).body
    assert.equal((await send(page, '/orders', json({ product: 'desk', _csrf: csrfToken }))).status, 200)
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data']) {
      assert.equal(await postForm(pages.listed.origin, { note: type, _csrf: token }, type), 200)
      assert.equal(await postForm(pages.listed.origin, { note: 'without a token' }, type), 403)
    }
    assert.deepEqual(changes, {
      orders: ['chair', 'desk'],
      notes: ['application/x-www-form-urlencoded', 'multipart/form-data'],
      pictures: [],
      messages: [],
    })
  })

  /** Uploads bytes that are a PNG by their signature, with progress. */
  const upload = (token: string, bytes: number) =>
    page.evaluate(
      ([url, secret, size]) =>
        new Promise<{ status: number; body: { code?: string; size?: number }; reported: number[] }>((resolve, reject) => {
          const content = new Uint8Array(size)
          content.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52])
          const form = new FormData()
          form.append('_csrf', secret)
          form.append('picture', new File([content], 'a.txt', { type: 'text/plain' }))
          const request = new XMLHttpRequest()
          const reported: number[] = []
          request.upload.onprogress = ({ loaded }) => reported.push(loaded)
          request.onload = () => resolve({ status: request.status, body: JSON.parse(request.responseText), reported })
          request.onerror = () => reject(new Error('the response is hidden'))
          request.open('POST', url)
          request.withCredentials = true
          request.send(form)
        }),
      [`${app}/pictures`, token, bytes] as const,
    )

  it('uploads a file with progress, and reads why one is refused; nothing is left on the disk', async () => {
    const token = await logIn()
    const { status, body, reported } = await upload(token, 300_000)
    assert.deepEqual([status, body], [200, { size: 300_000 }])
    assert.ok((reported.at(-1) ?? 0) > 300_000)
    const large = await upload(token, 300_001)
    assert.deepEqual([large.status, large.body.code], [413, 'UPLOAD_TOO_LARGE'])
    const stolen = await upload('wrong', 1000)
    assert.deepEqual([stolen.status, stolen.body.code], [403, 'CSRF_TOKEN_INVALID'])
    assert.deepEqual(changes.pictures, [300_000])
    const left = async () => (await Promise.all((await readdir(folder)).map((name) => readdir(join(folder, name))))).flat()
    await eventually('no temporary file is left', async () => (await left()).length === 0)
  })

  it('reads the date, the id of the request, its limits, and every error', async () => {
    const token = await logIn()
    const read = await send(page, '/catalog')
    assert.equal(read.body.text.length, 12_000)
    assert.ok(Date.parse(read.headers.date ?? '') > 0)
    assert.match(read.headers['x-request-id'] ?? '', /^[\da-f-]{36}$/)
    assert.match(read.headers.ratelimit ?? '', /^"default";r=\d+;t=\d+$/)
    assert.equal(read.headers['ratelimit-policy'], '"default";q=10000;w=3600')
    for (let i = 0; i < 2; i++) assert.equal((await send(page, '/few')).status, 200)
    const errors: readonly (readonly [path: string, init: RequestInit, status: number, code: string])[] = [
      ['/orders', json({ product: 1 }, { 'x-csrf-token': token }), 400, 'VALIDATION_FAILED'],
      ['/orders', json({ product: 'x' }, { 'x-csrf-token': token, authorization: 'Bearer x.y.z' }), 401, 'UNAUTHORIZED'],
      ['/admin', {}, 403, 'ROLE_REQUIRED'],
      ['/orders', json({ product: 'x' }), 403, 'CSRF_TOKEN_INVALID'],
      ['/nowhere', json({}), 404, 'NOT_FOUND'],
      ['/orders', { method: 'DELETE' }, 405, 'METHOD_NOT_ALLOWED'],
      ['/orders', json({ product: 'x'.repeat(1000) }, { 'x-csrf-token': token }), 413, 'PAYLOAD_TOO_LARGE'],
      [
        '/orders',
        { method: 'POST', headers: { 'content-type': 'text/csv', 'x-csrf-token': token }, body: 'x' },
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      ['/updates', {}, 426, 'SOCKET_UPGRADE_REQUIRED'],
      ['/few', {}, 429, 'RATE_LIMITED'],
    ]
    for (const [path, init, status, code] of errors) {
      const { headers, body, ...seen } = await send(page, path, init)
      assert.deepEqual([seen.status, body.code], [status, code], path)
      assert.match(headers['x-request-id'] ?? '', /^[\da-f-]{36}$/)
      assert.ok(headers.date)
      if (status === 429) assert.match(headers['retry-after'] ?? '', /^\d+$/)
    }
  })

  it('compresses what is large, and not what has a secret; a page may not read how', async () => {
    const [large] = await Promise.all([page.waitForResponse(`${app}/catalog`), send(page, '/catalog')])
    assert.match((await large.allHeaders())['content-encoding'] ?? '', /^(br|gzip)$/)
    const [secret] = await Promise.all([page.waitForResponse(`${app}/auth/login`), logIn()])
    const headers = await secret.allHeaders()
    assert.deepEqual([headers['content-encoding'], headers['cache-control']], [undefined, 'no-store'])
    for (const name of ['content-security-policy', 'x-content-type-options', 'cross-origin-resource-policy']) assert.ok(headers[name], name)
  })

  it('opens a socket in the session, and gets what another request of the user causes', async () => {
    const token = await logIn()
    assert.deepEqual(await talk(page, 'from the listed page'), [{ hello: email }, { heard: 'from the listed page' }, 1000])
    const got = await page.evaluate(
      ([url, order, secret]) =>
        new Promise((resolve) => {
          const ws = new WebSocket(url)
          ws.onmessage = ({ data }) => {
            const message = JSON.parse(data)
            if (message.ordered === undefined)
              void fetch(order, {
                method: 'POST',
                credentials: 'include',
                headers: { 'content-type': 'application/json', 'x-csrf-token': secret },
                body: JSON.stringify({ product: 'lamp' }),
              })
            else {
              ws.onclose = () => resolve(message)
              ws.close(1000)
            }
          }
          ws.onclose = ({ code }) => resolve(code)
        }),
      [`${app.replace('http', 'ws')}/updates`, `${app}/orders`, token] as const,
    )
    assert.deepEqual(got, { ordered: 'lamp' })
    await context.clearCookies()
    assert.deepEqual(await talk(page, 'without a session'), [1006])
  })

  it('signs requests with zin/signer, with a clock that is ten minutes off', async () => {
    await context.clearCookies()
    for (const offsetMs of [0, -600_000]) {
      const seen = await page.evaluate(
        async ({ url, body, offset }) => {
          const answer = await fetch(`${url}/auth/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
          const { jwt: token, deviceId, deviceSecret } = await answer.json()
          const { signedFetch } = (globalThis as unknown as Globals).signer
          const fetchSigned = signedFetch({ keyId: deviceId, secret: deviceSecret, token, now: () => Date.now() + offset })
          const response = await fetchSigned(`${url}/api/me`)
          return [response.status, (await response.json()).email]
        },
        { url: app, body: JSON.stringify({ email, password }), offset: offsetMs },
      )
      assert.deepEqual(seen, [200, email])
    }
  })

  for (const kind of ['sameSite', 'otherSite'] as const) {
    it(`shows nothing to a page that is not listed (${kind}), changes nothing for it, and leaves the session as it was`, async () => {
      const token = await logIn()
      const before = structuredClone(changes)
      const { user } = (await send(page, '/auth/session')).body
      const strange = await open(pages[kind].origin)
      const multipart = (from: Page) =>
        from.evaluate(async (url) => {
          const form = new FormData()
          form.append('note', 'stolen')
          form.append('picture', new File([new Uint8Array([0x89, 0x50])], 'a.png', { type: 'image/png' }))
          const tried = ['/notes', '/pictures', '/auth/login'].map((path) =>
            fetch(url + path, { method: 'POST', mode: 'no-cors', credentials: 'include', body: form }),
          )
          return (await Promise.allSettled(tried)).map(({ status }) => status)
        }, app)
      const hidden: readonly (readonly [path: string, init?: RequestInit])[] = [
        ['/catalog'],
        ['/auth/session'],
        ['/nowhere'],
        ['/orders', json({ product: 'stolen' })],
        // Not even with the token.
        ['/orders', json({ product: 'stolen' }, { 'x-csrf-token': token })],
        // Browsers ask first for neither of these.
        ['/orders', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: JSON.stringify({ product: 'stolen' }) }],
        ['/auth/login', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: JSON.stringify({ email, password }) }],
        ['/notes', { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'note=stolen' }],
        ['/auth/session', { method: 'DELETE' }],
      ]
      for (const [path, init] of hidden) await assert.rejects(send(strange, path, init), /Failed to fetch/, path)
      // The header Cross-Origin-Resource-Policy hides even that there is a response.
      assert.deepEqual(await multipart(strange), ['rejected', 'rejected', 'rejected'])
      for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'])
        assert.ok((await postForm(pages[kind].origin, { note: 'stolen' }, type)) >= 400, type)
      assert.deepEqual(await talk(strange, 'stolen'), [1006])
      await strange.close()
      assert.deepEqual(changes, before)
      assert.deepEqual((await send(page, '/auth/session')).body.user, user)
      assert.equal((await send(page, '/orders', json({ product: 'after it' }, { 'x-csrf-token': token }))).status, 200)
    })
  }
})
