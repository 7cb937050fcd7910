import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder, type RunningApp } from '../../scripts/testing/app-folder.js'

const secret = 'shared-0123456789abcdefghijklmnop'

const config = `
import { defineCommand, defineConfig, definePlugin } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt } from 'zin/plugins/jwt'
import { ops } from 'zin/plugins/ops'
const notes = definePlugin({
  name: 'notes',
  version: '1.0.0',
  setup(ctx) {
    const use = ['ops']
    ctx.route({ method: 'POST', path: '/api/notes', summary: 'Notes', use, body: { type: 'object' }, handler: (request) => request.input.body })
    ctx.command(defineCommand({
      name: 'note',
      summary: 'Prints the request that the app received',
      needs: 'running app',
      options: { url: { type: 'string', summary: 'Where the app is' }, host: { type: 'string', summary: 'Its host' }, port: { type: 'int', summary: 'Its port' } },
      run: async ({ app, print }) => print.line(JSON.stringify(await app.request({ method: 'POST', path: '/api/notes', body: { note: 'ä' } }))),
    }))
  },
})
export default defineConfig({
  app: { name: 'shop', port: 0, allowedHosts: process.env.HOSTS?.split(',') },
  plugins: [jwt(), bulletproof({ signedAuthority: process.env.AUTHORITY ?? '' }), ops(), notes()],
})
`

const files = {
  'zin.config.mjs': config,
  '.env': `BULLETPROOF_SIGNING_SECRET=${secret}\nAPP_KEY=${secret}\nOPS_AUTH=required\n`,
}

/** For a second app in a folder, so that commands without an address still find the first one. */
const elsewhere = { ZIN_DATA_DIR: 'elsewhere' }

/** A gateway that forwards requests with the original `Host` or the app's own. */
async function withGateway(keepsHost: boolean, test: (address: { readonly host: string; to: string }) => Promise<void>): Promise<void> {
  const address = { host: '', to: '' }
  const pass = (from: IncomingMessage, to: ServerResponse): void => {
    const { host: _, ...others } = from.headers
    const headers = { ...others, 'x-forwarded-for': '203.0.113.9', host: keepsHost ? from.headers.host : new URL(address.to).host }
    from.pipe(
      request(`${address.to}${from.url}`, { method: from.method ?? 'GET', headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(to)
      }),
    )
  }
  const server: Server = createServer(pass).listen(0, '127.0.0.1')
  await once(server, 'listening')
  address.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    await test(address)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('a command that operates the app', () => {
  let app: AppFolder
  let running: RunningApp
  before(async () => {
    app = await appFolder(files)
    running = await app.start()
  })
  after(() => app.remove())

  it('is accepted by the local app, at a host and port, and at a URL', async () => {
    const { port } = new URL(running.url)
    for (const args of [[], ['--port', port], ['--host', 'localhost', '--port', port], ['--url', running.url]]) {
      const { code, out, err } = await app.zin(['note', ...args])
      assert.deepEqual([code, out], [0, '{"note":"ä"}\n'], err)
    }
    const { code, err } = await app.zin(['note'], { BULLETPROOF_SIGNING_SECRET: 'another-0123456789abcdefghijklmnop' })
    assert.deepEqual([code, /signing secret here is that of the running app/.test(err)], [1, true], err)
  })

  it('is accepted through a gateway that preserves Host', () =>
    withGateway(true, async (gateway) => {
      const told = await app.start({ HOSTS: gateway.host, ...elsewhere })
      gateway.to = told.url
      const { code, out, err } = await app.zin(['note', '--url', `http://${gateway.host}`])
      assert.deepEqual([code, out], [0, '{"note":"ä"}\n'], err)
      await told.end()
    }))

  it('is accepted through a gateway that changes Host with signedAuthority, and otherwise fails with the reason', () =>
    withGateway(false, async (gateway) => {
      const told = await app.start({ AUTHORITY: gateway.host, ...elsewhere })
      gateway.to = told.url
      const { code, out, err } = await app.zin(['note', '--url', `http://${gateway.host}`])
      assert.deepEqual([code, out], [0, '{"note":"ä"}\n'], err)
      await told.end()
      gateway.to = running.url
      const refused = await app.zin(['note', '--url', `http://${gateway.host}`])
      assert.deepEqual([refused.code, /signedAuthority/.test(refused.err)], [1, true], refused.err)
    }))

  it('is refused when its request was signed for another app with the same secret', async (t) => {
    const staging = await appFolder(files)
    t.after(() => staging.remove())
    await withGateway(false, async (gateway) => {
      gateway.to = running.url
      const { code } = await staging.zin(['note', '--url', `http://${gateway.host}`])
      assert.equal(code, 1)
    })
  })
})
