import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt } from 'zin/plugins/jwt'
import { login } from 'zin/plugins/login'
import { createTestHost, type TestHost } from 'zin/testing'
import { launch } from '../../scripts/testing/chromium.js'
import { cors } from './index.js'

const email = 'ada@example.com'
const password = 'correct horse battery staple'

interface Globals {
  readonly signer: typeof import('zin/signer')
}

/** A page on an origin of its own. */
async function startPage(): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer((_req, res) => void res.setHeader('content-type', 'text/html').end('<!doctype html><title>Shop</title>'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

describe('an app with cors, used in Chromium from a page of another origin', () => {
  let host: TestHost
  let browser: Browser
  let listed: Awaited<ReturnType<typeof startPage>>
  let other: typeof listed
  let page: Page
  let strange: Page
  let app: string

  before(async () => {
    listed = await startPage()
    other = await startPage()
    host = await createTestHost({
      listen: true,
      env: { APP_KEY: 'app-key-canary-0123456789abcdefghijk' },
      plugins: [
        cors({ origins: [listed.origin], credentials: true }),
        jwt(),
        bulletproof(),
        login({ verifyCredentials: async (given, secret) => (given === email && secret === password ? { id: '7', email } : undefined) }),
      ],
      routes: [
        {
          method: 'POST',
          path: '/visits',
          summary: 'Counts in a cookie',
          handler: (ctx) => {
            const visits = Number(ctx.cookies.get('visits') ?? 0) + 1
            ctx.cookies.set('visits', String(visits))
            return { visits }
          },
        },
      ],
    })
    app = host.url
    browser = await launch()
    const contents = "import * as signer from 'zin/signer'\nObject.assign(globalThis, { signer })"
    const stdin = { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) }
    const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm', platform: 'neutral', target: 'es2022' })
    const script = outputFiles[0]?.text ?? ''
    const open = async (origin: string): Promise<Page> => {
      const opened = await browser.newPage()
      await opened.goto(origin)
      await opened.addScriptTag({ type: 'module', content: script })
      await opened.waitForFunction(() => 'signer' in globalThis)
      return opened
    }
    page = await open(listed.origin)
    strange = await open(other.origin)
  })
  after(async () => {
    await browser?.close()
    listed?.server.close()
    other?.server.close()
    await host?.stop()
  })

  /** Logs in from a page, and sends a signed request whose clock differs by `offsetMs`. */
  const signedIn = (from: Page, offsetMs: number) =>
    from.evaluate(
      async ({ url, body, offset }) => {
        const answer = await fetch(`${url}/auth/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
        const { jwt: token, deviceId, deviceSecret } = await answer.json()
        const { signedFetch } = (globalThis as unknown as Globals).signer
        const send = signedFetch({ keyId: deviceId, secret: deviceSecret, token, now: () => Date.now() + offset })
        const response = await send(`${url}/api/me`)
        const { headers } = response
        return { status: response.status, me: await response.json(), id: headers.get('x-request-id'), date: headers.get('date') }
      },
      { url: app, body: JSON.stringify({ email, password }), offset: offsetMs },
    )

  it('logs in, sends a signed request with zin/signer, and reads Date and x-request-id', async () => {
    const { status, me, id, date } = await signedIn(page, 0)
    assert.deepEqual([status, me.email], [200, email])
    assert.match(id ?? '', /^[\da-f-]{36}$/)
    assert.ok(Date.parse(date ?? '') > 0)
  })

  it('corrects a clock that is ten minutes off by the Date of the refusal', async () => {
    assert.equal((await signedIn(page, -600_000)).status, 200)
  })

  it('sends cookies along and sees the errors of routes, of unknown paths and of bodies', async () => {
    const seen = await page.evaluate(async (url) => {
      const visit = async () => (await (await fetch(`${url}/visits`, { method: 'POST', credentials: 'include' })).json()).visits as number
      const error = async (path: string, init?: RequestInit) => {
        const response = await fetch(url + path, { credentials: 'include', ...init })
        return [response.status, (await response.json()).code] as const
      }
      const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
      return {
        visits: [await visit(), await visit()],
        errors: [
          await error('/api/me'),
          await error('/unknown'),
          await error('/unknown', { method: 'DELETE' }),
          await error('/visits', { method: 'PUT' }),
          await error('/auth/login', { ...json, body: '{' }),
          await error('/auth/login', { ...json, body: '{}' }),
        ],
      }
    }, app)
    assert.deepEqual(seen.visits, [1, 2])
    assert.deepEqual(
      seen.errors.map(([status]) => status),
      [401, 404, 404, 405, 400, 400],
    )
  })

  it('shows nothing to a page of an origin that is not listed', async () => {
    const seen = await strange.evaluate(async (url) => {
      const tried = [
        fetch(`${url}/health`),
        fetch(`${url}/visits`, { method: 'POST', credentials: 'include' }),
        fetch(`${url}/x`, { method: 'DELETE' }),
      ]
      return (await Promise.allSettled(tried)).map(({ status }) => status)
    }, app)
    assert.deepEqual(seen, ['rejected', 'rejected', 'rejected'])
  })
})
