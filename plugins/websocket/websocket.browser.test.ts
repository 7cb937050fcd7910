import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { definePlugin, Type } from 'zin'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { createTestHost, type TestHost } from 'zin/testing'
import { launch } from '../../scripts/testing/chromium.js'
import { websocket } from './index.js'

const page = { method: 'GET', path: '/page', summary: 'x', handler: () => 'a page' }

describe('a socket in Chromium', () => {
  let browser: Browser
  let app: TestHost
  let other: TestHost
  before(async () => {
    browser = await launch()
    const chat = definePlugin({
      name: 'chat',
      version: '1.0.0',
      dependencies: ['websocket'],
      setup: ({ socket }) =>
        socket({
          path: '/chat',
          use: ['auth'],
          message: Type.Object({ text: Type.String() }),
          handler: (client, { text }) => void client.send({ from: client.state.user.sub, text }),
        }),
    })
    app = await createTestHost({ plugins: [jwt(), websocket(), chat()], routes: [page] as never, listen: true })
    other = await createTestHost({ routes: [page] as never, listen: true })
  })
  after(async () => {
    await browser.close()
    await app.stop()
    await other.stop()
  })

  /** Connects from a page of an origin; returns the first message, or how the connection ended. */
  async function from(origin: string, token: string): Promise<unknown> {
    const tab = await browser.newPage()
    await tab.goto(`${origin}/page`)
    const result = await tab.evaluate(
      ([url, secret]) =>
        new Promise((resolve) => {
          const ws = new WebSocket(url, ['zin', `bearer.${secret}`])
          ws.onopen = () => ws.send(JSON.stringify({ text: 'hello' }))
          ws.onmessage = ({ data }) => {
            resolve([ws.protocol, JSON.parse(data)])
            ws.close()
          }
          ws.onclose = ({ code }) => resolve(code)
        }),
      [`${app.url.replace('http', 'ws')}/chat`, token] as const,
    )
    await tab.close()
    return result
  }

  it('gets its token from the subprotocols, from a page of the app only', async () => {
    const { token } = await app.service(tokensService).issue({ sub: 'ada' })
    assert.deepEqual(await from(app.url, token), ['zin', { from: 'ada', text: 'hello' }])
    assert.equal(await from(app.url, 'x.y.z'), 1006)
    assert.equal(await from(other.url, token), 1006)
    assert.doesNotMatch(app.logText(), new RegExp(token.slice(-20)))
  })
})
