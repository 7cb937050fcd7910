import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ZinError } from 'zin'
import type { Asset } from './assets.js'
import { type StandaloneOptions, startStandalone } from './standalone-server.js'

const page: Asset = {
  type: 'text/html',
  etag: 'W/"x"',
  forms: { identity: Buffer.from('x'), gzip: Buffer.from(''), br: Buffer.from('') },
}
const options: StandaloneOptions = {
  host: '127.0.0.1',
  port: 0,
  target: () => 'http://127.0.0.1:9',
  appName: 'test',
  index: async () => page,
  file: async () => page,
  auth: undefined,
  readOnly: false,
  authorize: async () => undefined,
  onError: () => undefined,
}

test('the console on its own port sends no request to the app for a client that has disconnected', async () => {
  const reached: (string | undefined)[] = []
  const app = createServer((req, res) => {
    reached.push(req.url)
    res.end('{}')
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  let start: () => void = () => undefined
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const server = await startStandalone({
    ...options,
    target: () => `http://127.0.0.1:${(app.address() as AddressInfo).port}`,
    authorize: async ({ url }) => {
      if (!url.endsWith('/slow')) return undefined
      start()
      await released
      return undefined
    },
  })
  try {
    const client = request(`${server.url}/api/slow`, { agent: false }).on('error', () => undefined)
    client.end()
    await started
    client.destroy()
    // The server handles these after the end of the first connection.
    for (let n = 0; n < 2; n++) await (await fetch(`${server.url}/console`)).text()
    release()
    await (await fetch(`${server.url}/api/next`)).text()
    assert.deepEqual(reached, ['/api/next'])
  } finally {
    await server.close()
    app.close()
  }
})

test('the console on its own port answers 413 to a body that is too large, and 400 to a URL that cannot be parsed', async () => {
  const server = await startStandalone(options)
  try {
    const large = await fetch(`${server.url}/api/jobs`, {
      method: 'POST',
      headers: { 'x-requested-with': 'test' },
      body: 'x'.repeat(4 * 1024 * 1024),
    })
    assert.deepEqual([large.status, (await large.json()).code], [413, 'CONSOLE_BODY_TOO_LARGE'])
    const client = request(server.url, { path: '//', agent: false }).end()
    const [malformed] = (await once(client, 'response')) as [IncomingMessage]
    malformed.resume()
    assert.equal(malformed.statusCode, 400)
  } finally {
    await server.close()
  }
})

test('the console on its own port answers 500 to its own errors and logs them, and 502 only if the app cannot be reached', async () => {
  const logged: unknown[] = []
  const faults = [new TypeError('the vault at 10.0.0.7 is sealed'), new ZinError('ZIN_HOOK_FAILED', 'the vault at 10.0.0.7 is sealed')]
  const unavailable = new ZinError('STORE_UNAVAILABLE', 'The store does not respond', { status: 503 })
  const thrown = [...faults, unavailable]
  const server = await startStandalone({
    ...options,
    authorize: async () => {
      const next = thrown.shift()
      if (next !== undefined) throw next
      return undefined
    },
    onError: (error, request) => logged.push(error, request),
  })
  try {
    const read = async () => {
      const response = await fetch(`${server.url}/api/jobs?q=private`)
      return { status: response.status, body: (await response.json()) as { readonly code: string; readonly message: string } }
    }
    for (const fault of faults) {
      const { body, status } = await read()
      assert.deepEqual([status, body.code], [500, 'CONSOLE_INTERNAL_ERROR'])
      assert.doesNotMatch(JSON.stringify(body), /vault|HOOK/)
      assert.deepEqual(logged.splice(0), [fault, 'GET /api/jobs'])
    }
    for (const [status, code] of [
      [503, 'STORE_UNAVAILABLE'],
      [502, 'CONSOLE_APP_UNREACHABLE'],
    ] as const) {
      const answer = await read()
      assert.deepEqual([answer.status, answer.body.code], [status, code])
    }
    assert.deepEqual(logged, [])
  } finally {
    await server.close()
  }
})

test('the console on its own port logs no error for a client that disconnects while it sends', async () => {
  const logged: unknown[] = []
  const server = await startStandalone({ ...options, onError: (error) => logged.push(error) })
  try {
    const headers = { 'x-requested-with': 'test', expect: '100-continue' }
    const client = request(`${server.url}/api/jobs`, { method: 'POST', headers, agent: false }).on('error', () => undefined)
    client.flushHeaders()
    await once(client, 'continue')
    client.write('{')
    client.destroy()
    // The server handles these after the end of the first connection.
    for (let n = 0; n < 2; n++) await (await fetch(`${server.url}/console`)).text()
  } finally {
    await server.close()
  }
  assert.deepEqual(logged, [])
})

test('the console on its own port without a password refuses what a proxy has forwarded', async () => {
  const server = await startStandalone(options)
  try {
    for (const name of [
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-port',
      'x-real-ip',
      'via',
      'cf-connecting-ip',
      'true-client-ip',
      'cdn-loop',
    ]) {
      const response = await fetch(`${server.url}/console`, { headers: { [name]: 'for=203.0.113.1' } })
      assert.deepEqual([response.status, (await response.json()).code], [403, 'CONSOLE_FORBIDDEN'], name)
    }
    assert.equal((await fetch(`${server.url}/console`)).status, 200)
  } finally {
    await server.close()
  }
})
