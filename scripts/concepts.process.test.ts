import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parseEnv } from 'node:util'
import { type AppProcess, copyExample, runCli, startApp, temporaryFolder } from './app-process.js'

describe('examples/concepts, all in one app', () => {
  const temporary = temporaryFolder()
  let folder = ''
  let app: AppProcess | undefined

  before(async () => {
    folder = copyExample('concepts', temporary.path)
    app = await startApp(folder, { probe: '/greetings' })
  })
  after(async () => {
    await app?.end('SIGTERM')
    temporary.remove()
  })

  async function send(method: string, path: string, { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {}) {
    const json = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }
    const response = await fetch(`${app?.url}${path}`, { method, headers, ...json })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  it('hook.ts reports a greeting to the other plugin', async () => {
    await send('GET', '/greet/ada')
    assert.deepEqual((await send('GET', '/greetings')).body, { count: 1 })
  })

  it('service.ts delivers a letter through the service of the other plugin', async () => {
    assert.deepEqual((await send('POST', '/welcome', { body: { to: 'ada' } })).body, { letter: 1 })
  })

  it('middleware.ts accepts a known key and refuses any other', async () => {
    const known = await send('GET', '/tenant', { headers: { 'x-tenant-key': 'key-of-acme' } })
    assert.deepEqual(known, { status: 200, body: { tenant: 'acme' } })
    assert.equal((await send('GET', '/tenant')).status, 401)
  })

  it('migration.ts keeps notes in its table', async () => {
    await send('PUT', '/notes/1', { body: { text: 'hello' } })
    assert.deepEqual((await send('GET', '/notes')).body, [{ id: '1', text: 'hello' }])
  })

  it('guestbook.ts writes entries with its key, refuses what its gate refuses, and lists them on the command line', async () => {
    const key = parseEnv(readFileSync(join(folder, '.env'), 'utf8')).GUESTBOOK_KEY ?? ''
    const write = (text: string, headers: Record<string, string>) => send('POST', '/guestbook', { body: { author: 'Ada', text }, headers })
    assert.equal((await write('Hello', {})).status, 401)
    assert.equal((await write('Hello', { 'x-guestbook-key': key })).status, 201)
    const refused = await write('see http://spam.example', { 'x-guestbook-key': key })
    assert.deepEqual([refused.status, refused.body.code], [409, 'GUESTBOOK_ENTRY_REFUSED'])
    const { entries } = (await send('GET', '/guestbook')).body as { entries: { text: string }[] }
    assert.deepEqual(
      entries.map(({ text }) => text),
      ['Hello'],
    )
    await app?.end('SIGTERM')
    const { code, stdout, stderr } = await runCli(['guestbook:list', '--json'], folder)
    assert.equal(code, 0, stderr)
    assert.deepEqual(
      (JSON.parse(stdout) as { text: string }[]).map(({ text }) => text),
      ['Hello'],
    )
  })

  it('command.ts counts routes', async () => {
    const { code, stdout, stderr } = await runCli(['routes:count', '--prefix', '/notes', '--json'], folder)
    assert.equal(code, 0, stderr)
    assert.deepEqual(JSON.parse(stdout), { routes: 2 })
  })
})
