import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { createTestHost, type TestHost } from 'zin/testing'
import { sessions } from './index.js'
import { env } from './sessions.contract.js'
import { sessionRoutes } from './testing/app.js'

const executablePath = process.env.TEST_CHROMIUM
assert.ok(executablePath, 'TEST_CHROMIUM is not set; run: npm test -- sessions.browser')

describe('sessions in Chromium', () => {
  let host: TestHost
  let browser: Browser
  let page: Page
  /** A page of another site, which posts forms to the app. */
  let evil: Server
  let evilUrl: string

  before(async () => {
    host = await createTestHost({ env, listen: true, plugins: [database(), kv(), sessions({ secure: true }), sessionRoutes()] })
    evil = createServer((_req, res) => res.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>'))
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
    // The app is on localhost, this one on 127.0.0.1: another site.
    evilUrl = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`
    browser = await chromium.launch({
      executablePath: executablePath as string,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    })
    page = await browser.newPage()
  })
  after(async () => {
    await browser?.close()
    evil?.close()
    await host?.stop()
  })

  const app = (path: string): string => `http://localhost:${new URL(host.url).port}${path}`

  /** Sends a request from the page that is open, and returns its status and JSON. */
  const send = (path: string, init: RequestInit = {}) =>
    page.evaluate(
      async ([url, given]) => {
        const response = await fetch(url as string, given as RequestInit)
        return { status: response.status, body: await response.json().catch(() => null), token: response.headers.get('x-csrf-token') }
      },
      [app(path), init as never] as const,
    )

  /** Posts a form from the page that is open to the app, as a click on its button does. */
  const postForm = async (path: string, fields: Readonly<Record<string, string>>): Promise<number> => {
    const arrived = page.waitForNavigation({ url: app(path) })
    await page.evaluate(
      ([action, values]) => {
        const form = document.createElement('form')
        form.method = 'post'
        form.action = action as string
        for (const [name, value] of Object.entries(values as object)) {
          const input = document.createElement('input')
          input.name = name
          input.value = value as string
          form.append(input)
        }
        document.body.append(form)
        form.submit()
      },
      [app(path), fields] as const,
    )
    return (await arrived)?.status() ?? 0
  }

  it('keeps a __Host- cookie on localhost that scripts cannot read, and takes the token by header and form', async () => {
    await page.goto(app('/untouched'))
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const first = await send('/set', { ...json, body: JSON.stringify({ color: 'blue' }) })
    assert.equal(first.status, 200)
    assert.equal(await page.evaluate(() => document.cookie), '')
    const [cookie] = await page.context().cookies(app('/'))
    assert.deepEqual(
      [cookie?.name, cookie?.httpOnly, cookie?.secure, cookie?.sameSite, cookie?.path],
      ['__Host-session', true, true, 'Lax', '/'],
    )
    assert.deepEqual((await send('/read')).body, { color: 'blue', user: null })
    assert.equal((await send('/set', { ...json, body: '{"color":"red"}' })).status, 403)
    const headers = { ...json.headers, 'x-csrf-token': first.token as string }
    assert.equal((await send('/set', { ...json, headers, body: '{"color":"red"}' })).status, 200)
    await page.goto(app('/untouched'))
    assert.equal(await postForm('/form', { _csrf: first.token as string }), 200)
    await page.goto(app('/untouched'))
    assert.equal((await send('/read')).body.color, 'from a form')
  })

  it('lets another site neither act in the session nor sign anyone in', async () => {
    await page.goto(app('/untouched'))
    const before = (await page.context().cookies(app('/')))[0]?.value
    await page.goto(evilUrl)
    // SameSite keeps the cookie at home; a session that began now would replace it.
    assert.equal(await postForm('/form', { color: 'evil' }), 403)
    await page.goto(evilUrl)
    assert.equal(await postForm('/sign-in', { name: 'mallory' }), 403)
    await page.goto(evilUrl)
    const opaque = await page.evaluate(async (url) => {
      const { type } = await fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'color=evil' })
      return type
    }, app('/sign-out'))
    assert.equal(opaque, 'opaque')
    await page.goto(app('/untouched'))
    assert.deepEqual((await send('/read')).body, { color: 'from a form', user: null })
    assert.equal((await page.context().cookies(app('/')))[0]?.value, before)
  })

  it('forgets the cookie after destroy', async () => {
    await page.context().clearCookies()
    await page.goto(app('/untouched'))
    const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const { token } = await send('/set', { ...json, body: '{"color":"blue"}' })
    assert.equal((await send('/sign-out', { method: 'POST', headers: { 'x-csrf-token': token as string } })).status, 204)
    assert.deepEqual(await page.context().cookies(app('/')), [])
    assert.deepEqual((await send('/read')).body, { user: null })
  })
})
