import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'

const config = `
import { defineConfig } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { webConsole } from 'zin/plugins/console'

export default defineConfig({
  app: { name: 'shop', port: 0 },
  plugins: [database(), kv(), cluster(), queues(), jwt(), ops(), queueMonitor(), webConsole()],
})
`

describe('zin monitor', () => {
  let app: AppFolder
  let command: ReturnType<typeof spawn>
  let lines: AsyncIterator<string>
  /** Returns the link in the next line of output. */
  const nextLink = async (): Promise<URL> => {
    const { value } = await lines.next()
    const link = /http:\/\/127\.0\.0\.1:\d+\/console\?token=[\w-]{43}$/.exec(String(value))?.[0]
    assert.ok(link, String(value))
    return new URL(link)
  }
  const get = (url: URL | string, headers: Record<string, string> = {}) => fetch(url, { headers, redirect: 'manual' })
  const codeOf = async (response: Response) => [response.status, ((await response.json()) as { code: string }).code]

  before(async () => {
    app = await appFolder({ 'zin.config.mjs': config, '.env': `APP_KEY=${'k'.repeat(32)}\n` })
    await app.start()
    const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli.js')
    command = spawn(process.execPath, [cli, 'monitor', '--console-port', '0'], { cwd: app.folder, stdio: ['ignore', 'pipe', 'inherit'] })
    assert.ok(command.stdout)
    lines = createInterface(command.stdout)[Symbol.asyncIterator]()
  })
  after(async () => {
    const exited = once(command, 'exit')
    command.kill('SIGINT')
    await exited
    await app.remove()
  })

  it('grants access only to the browser that opened its link, which works once and leaves no token in the URL', async () => {
    const link = await nextLink()
    const api = `${link.origin}/api/console/boot`
    for (const url of [`${link.origin}/console`, api]) assert.deepEqual(await codeOf(await get(url)), [401, 'CONSOLE_LINK_REQUIRED'])
    const guessed = `${link.origin}/console?token=${'a'.repeat(43)}`
    assert.deepEqual(await codeOf(await get(guessed)), [401, 'CONSOLE_LINK_REQUIRED'])

    const entered = await get(link)
    assert.deepEqual([entered.status, entered.headers.get('location')], [303, '/console'])
    const set = entered.headers.get('set-cookie') ?? ''
    assert.match(set, /^zin-console-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    const cookie = set.split(';')[0] ?? ''
    assert.ok(!cookie.includes(link.searchParams.get('token') ?? ''))
    assert.equal((await get(`${link.origin}/console`, { cookie })).status, 200)
    assert.equal((await get(api, { cookie: `other=1; ${cookie}` })).status, 200)
    assert.deepEqual(await codeOf(await get(api, { cookie: `${cookie}x` })), [401, 'CONSOLE_LINK_REQUIRED'])
    assert.deepEqual(await codeOf(await get(link)), [401, 'CONSOLE_LINK_REQUIRED'])

    const another = await nextLink()
    assert.equal((await get(another)).status, 303)
  })

  it('rejects non-local host names, also with a link', async () => {
    const link = await nextLink()
    const port = link.port
    const { request } = await import('node:http')
    const refused = await new Promise<number | undefined>((resolve, reject) => {
      request(
        { host: '127.0.0.1', port, path: `${link.pathname}${link.search}`, headers: { host: `evil.example:${port}` } },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
        .on('error', reject)
        .end()
    })
    assert.equal(refused, 403)
    assert.equal((await get(link)).status, 303)
  })
})
