import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '../../scripts/testing/free-port.js'
import type { CommandRequest } from '../hooks/catalogue.js'
import type { CommandShape, Printer } from '../host/command.js'
import type { HostView } from '../host/view.js'
import { markProcess } from '../util/process-mark.js'
import { createAppClient } from './client.js'

async function serve(t: TestContext, listener: RequestListener): Promise<number> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** @param run The content of run.json; an object is completed by the mark of this process in the folder. */
async function appIn(t: TestContext, port: number, run?: string | object): Promise<HostView['app']> {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-client-'))
  t.after(() => rm(dataDir, { recursive: true }))
  const content = typeof run === 'object' ? JSON.stringify({ ...(await markProcess(dataDir)), ...run }) : run
  if (content !== undefined) await writeFile(join(dataDir, 'run.json'), content)
  return {
    name: 'a',
    environment: 'test',
    production: false,
    rootDir: dataDir,
    codeDir: dataDir,
    dataDir,
    bind: { host: '127.0.0.1', port },
    shutdownMs: 30_000,
  }
}

const signal = new AbortController().signal
const nobody = async () => undefined
const print: Pick<Printer, 'waiting'> = { waiting: (_what, work) => work }
const echo: RequestListener = async (request: IncomingMessage, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }))
}

interface Echo {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

test('a request carries a credential that is created for its method, full URL and body', async (t) => {
  const app = await appIn(t, await serve(t, echo))
  const asked: CommandRequest[] = []
  const authorize = async (request: CommandRequest) => {
    asked.push(request)
    return { headers: { 'x-key': 'k1' }, onRefusal: '' }
  }
  const client = await createAppClient({ app, options: {}, authorize, print, signal })
  const query = { limit: 5, none: undefined, q: 'ä&b' }
  const seen = await client.request<Echo>({ method: 'POST', path: '/api/x', query, body: { to: 'ä' } })
  assert.deepEqual([seen.method, seen.url, seen.body, seen.headers['x-key']], ['POST', '/api/x?limit=5&q=%C3%A4%26b', '{"to":"ä"}', 'k1'])
  await client.request<Echo>({ method: 'GET', path: '/' })
  assert.deepEqual(asked, [
    { method: 'POST', url: `${client.baseUrl}${seen.url}`, body: seen.body, contentType: 'application/json' },
    { method: 'GET', url: `${client.baseUrl}/`, body: undefined, contentType: undefined },
  ])
})

test('--url takes precedence over --host and --port, these over the running app, and that over the configuration', async (t) => {
  const app = await appIn(t, 1, { host: '0.0.0.0', port: 4321 })
  const baseUrl = async (options: Record<string, unknown>, of = app) =>
    (await createAppClient({ app: of, options, authorize: nobody, print, signal })).baseUrl
  assert.equal(await baseUrl({ url: 'https://x.example/base/', port: 5 }), 'https://x.example/base')
  assert.equal(await baseUrl({ port: 5 }), 'http://127.0.0.1:5')
  assert.equal(await baseUrl({ host: '::1', port: 5 }), 'http://[::1]:5')
  assert.equal(await baseUrl({}), 'http://127.0.0.1:4321')
  const others = [
    { pid: 2 ** 30 },
    { started: '1' },
    { boot: 'earlier' },
    { folder: '1:2' },
    { machine: 'elsewhere' },
    { namespace: 'pid:[1]' },
  ]
  const notThis = others.map((other) => ({ host: 'h', port: 2, ...other }))
  for (const run of ['{broken', { pid: 'x', host: 'h', port: 1 }, { host: 7, port: 1 }, { host: 'h', port: '1' }, ...notThis, 'null']) {
    assert.equal(await baseUrl({}, await appIn(t, 7000, run)), 'http://127.0.0.1:7000')
  }
})

test('an address that is not a plain http URL is refused', async (t) => {
  const app = await appIn(t, 1)
  for (const url of ['ftp://x', 'nonsense', 'http://user:pass@x', 'http://x/?a=1']) {
    await assert.rejects(createAppClient({ app, options: { url }, authorize: nobody, print, signal }), { code: 'ZIN_USAGE' })
  }
  for (const host of ['exa mple', 'user@x', 'x/y', 'x?a', 'x#a', '[x]', '<x>']) {
    await assert.rejects(createAppClient({ app, options: { host }, authorize: nobody, print, signal }), { code: 'ZIN_USAGE' }, host)
  }
  const client = await createAppClient({ app, options: {}, authorize: nobody, print, signal })
  await assert.rejects(client.request({ method: 'GET', path: '@evil.example/' }), { name: 'TypeError' })
})

test('if nothing listens, the error contains the address and how to start the app', async (t) => {
  const port = await freePort()
  const client = await createAppClient({ app: await appIn(t, port), options: {}, authorize: nobody, print, signal })
  await assert.rejects(client.request({ method: 'GET', path: '/' }), {
    code: 'ZIN_APP_UNREACHABLE',
    message: `no app responds on http://127.0.0.1:${port}; start it with "zin start", or pass its address with --url, or with --host and --port`,
  })
})

test('a refusal becomes an error with the code, message and details of the response, and names commands instead of routes', async (t) => {
  const port = await serve(t, (request, response) => {
    if (request.url === '/html') return void response.writeHead(502).end('<p>')
    const message = 'No worker is named "x"; GET /api/workers lists those there are, GET /api/workers/x/versions the versions'
    const status = Number(request.url?.slice(1))
    const code = { 404: 'WORKER_NOT_FOUND', 401: 'UNAUTHORIZED', 421: 'OTHER_APP' }[status]
    response.writeHead(status).end(JSON.stringify({ error: 'Not found', message, code, details: { name: 'x' } }))
  })
  const commands: readonly CommandShape[] = [
    { name: 'worker:list', summary: '', needs: 'running app', route: 'GET /api/workers' },
    { name: 'worker:versions', summary: '', needs: 'running app', route: 'GET /api/workers/:name/versions' },
  ]
  const given = { app: await appIn(t, port), options: {}, commands, print, signal }
  const client = await createAppClient({ ...given, authorize: nobody })
  const ask = (path: string) => client.request({ method: 'GET', path })
  const message = 'No worker is named "x"; "zin worker:list" lists those there are, "zin worker:versions x" the versions'
  await assert.rejects(ask('/404'), { code: 'WORKER_NOT_FOUND', status: 404, title: 'Not found', message, details: { name: 'x' } })
  await assert.rejects(ask('/html'), {
    code: 'ZIN_APP_RESPONSE',
    message: `the response to GET /html on http://127.0.0.1:${port} has status 502 and does not come from a Zin app; another server or a proxy may be listening there`,
  })
  await assert.rejects(ask('/401'), {
    message: `${message}; no plugin of the app in this folder authorizes CLI requests (hook authorizeCommand)`,
  })
  await assert.rejects(ask('/421'), {
    message: `the app on http://127.0.0.1:${port} is not "a", the app of this folder; pass the address of "a" with --url, or with --host and --port`,
  })
  const signed = await createAppClient({ ...given, authorize: async () => ({ headers: {}, onRefusal: 'is the key right?' }) })
  await assert.rejects(signed.request({ method: 'GET', path: '/401' }), {
    message: `${message}; is the key right?`,
  })
})

test('a request is aborted if the app does not respond in time, and on Ctrl-C', async (t) => {
  const port = await serve(t, () => undefined)
  const app = await appIn(t, port)
  const slow = await createAppClient({ app, options: {}, authorize: nobody, print, signal, timeoutMs: 50 })
  await assert.rejects(slow.request({ method: 'GET', path: '/' }), {
    code: 'ZIN_APP_TIMEOUT',
    message: /did not respond to GET within 0\.05 s/,
  })
  const stopped = await createAppClient({ app, options: {}, authorize: nobody, print, signal: AbortSignal.abort() })
  await assert.rejects(stopped.request({ method: 'GET', path: '/' }), { code: 'ZIN_ABORTED' })
})
