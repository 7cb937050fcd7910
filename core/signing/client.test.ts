import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { signatureHeaderNames } from './canonical.js'
import { createHeaders, generateDeviceKey, signedFetch } from './client.js'
import { decoyKey, signingKey } from './key.js'
import { publicSigningKey } from './public-key.js'
import { checkBody, checkMac, readSignature, signedTarget } from './verifier.js'

const known = {
  secret: 'test-secret-0123456789abcdef',
  keyId: 'dev_1',
  timestamp: 1763690000000,
  nonce: '6f1b2c1e-6d6f-4a53-9f58-3d1e5a0c7b11',
}

const knownAnswers = [
  ['GET', 'https://api.example.com/api/me', undefined, '7b7a2b8c0077081cfc5a8a840843ca489adf9b5cf72ce2172963d9654d119060'],
  ['post', '/v1/a%20b/caf%C3%A9?z=1&a=%20x&a=2#f', '{"a":"hé"}', '3d9b2e74674a03146daaa2250914665b474d25788e43fb34ab235f21f930ba99'],
  ['GET', '/a/../b/%2e%2e/c?', undefined, '212e86b60873e559c9af63c90ee7694b48f9bc5f47131096ee0fe9750e09f5f6'],
] as const

for (const [method, url, body, signature] of knownAnswers) {
  test(`the v1 signature of ${method} ${url} is the published one`, async () => {
    const headers = await createHeaders({ ...known, method, url, body })
    assert.equal(headers['x-sig-signature'], signature)
  })
}

test('the headers are the five of a signed request and the device id, with the given prefix', async () => {
  const headers = await createHeaders({ ...known, method: 'GET', url: '/api/me', headerPrefix: 'x-zt-' })
  assert.deepEqual(headers, {
    'x-zt-key-id': 'dev_1',
    'x-zt-timestamp': '1763690000000',
    'x-zt-nonce': known.nonce,
    'x-zt-body-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'x-zt-signature': knownAnswers[0][3],
    'x-zt-device-id': 'dev_1',
  })
})

test('text, bytes and a buffer with the same content have the same signature', async () => {
  const bytes = new TextEncoder().encode('{"a":"hé"}')
  const all = await Promise.all(
    ['{"a":"hé"}', bytes, bytes.buffer].map((body) => createHeaders({ ...known, method: 'POST', url: '/x', body })),
  )
  assert.equal(new Set(all.map((headers) => headers['x-sig-signature'])).size, 1)
})

test('each request gets a new nonce', async () => {
  const { nonce: _, ...rest } = known
  const [one, two] = await Promise.all([
    createHeaders({ ...rest, method: 'GET', url: '/' }),
    createHeaders({ ...rest, method: 'GET', url: '/' }),
  ])
  assert.notEqual(one['x-sig-nonce'], two['x-sig-nonce'])
})

test('an empty secret and values that no server would accept are refused', async () => {
  const good = { ...known, method: 'GET', url: '/' }
  for (const bad of [{ secret: '' }, { keyId: 'a b' }, { nonce: 'short' }, { timestamp: 1.5 }, { headerPrefix: 'X Sig' }]) {
    await assert.rejects(createHeaders({ ...good, ...bad }), TypeError)
  }
})

test('the error for a missing credential names it', async () => {
  const unset = undefined as unknown as string
  const request = { ...known, method: 'GET', url: 'http://localhost/' }
  for (const secret of ['', unset]) {
    const named = { name: 'TypeError', message: 'secret is missing or empty' }
    await assert.rejects(createHeaders({ ...request, secret }), named)
    await assert.rejects(signedFetch({ keyId: 'dev_1', secret })(request.url), named)
  }
  await assert.rejects(createHeaders({ ...request, keyId: unset }), { name: 'TypeError', message: /^keyId / })
})

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

async function withServer(
  respond: (seen: Seen, count: number) => { status: number; date: Date },
  use: (url: string, seen: Seen[]) => Promise<void>,
): Promise<void> {
  const all: Seen[] = []
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const seen = {
      method: req.method ?? '',
      url: req.url ?? '',
      headers: req.headers as Seen['headers'],
      body: Buffer.concat(chunks).toString(),
    }
    all.push(seen)
    const { status, date } = respond(seen, all.length)
    res.writeHead(status, { date: date.toUTCString(), location: '/elsewhere' }).end('done')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, all)
  } finally {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
}

test('signedFetch signs the bytes that it sends, for every kind of body', async () => {
  await withServer(
    () => ({ status: 200, date: new Date() }),
    async (url, seen) => {
      const api = signedFetch({ keyId: 'dev_1', secret: known.secret, token: async () => 'abc.def.ghi', timezone: 'Europe/Paris' })
      const form = new FormData()
      form.set('a', 'b')
      await api(`${url}/p?q=1`)
      for (const body of ['text', new URLSearchParams({ a: '1' }), form, new Blob(['blob']), new Uint8Array([1, 2])])
        await api(`${url}/p?q=1`, { method: 'POST', body })
      await api(new Request(`${url}/p?q=1`, { method: 'PUT', body: '{}', headers: { 'content-type': 'application/json' } }))
      assert.equal(seen.length, 7)
      for (const { method, headers, body } of seen) {
        const canonical = `${method}\n/p\n?q=1\n${headers['x-sig-timestamp']}\n${headers['x-sig-nonce']}\n${headers['x-sig-body-sha256']}`
        assert.equal(headers['x-sig-signature'], createHmac('sha256', known.secret).update(canonical).digest('hex'))
        assert.equal(headers.authorization, 'Bearer abc.def.ghi')
        assert.equal(headers['x-sig-timezone'], 'Europe/Paris')
        assert.equal(body === '', method === 'GET')
      }
      assert.match(seen[3]?.headers['content-type'] ?? '', /^multipart\/form-data; boundary=/)
      assert.equal(seen[6]?.headers['content-type'], 'application/json')
    },
  )
})

test('S12: signedFetch learns the offset of a wrong clock from a 401 and retries once with a new nonce', async () => {
  const offset = 10 * 60_000
  await withServer(
    ({ headers }) => {
      const late = Math.abs(Number(headers['x-sig-timestamp']) - Date.now()) > 60_000
      return { status: late ? 401 : 200, date: new Date() }
    },
    async (url, seen) => {
      const api = signedFetch({ keyId: 'dev_1', secret: known.secret, now: () => Date.now() - offset })
      const body = '{"a":1}'
      assert.equal((await api(`${url}/a`, { method: 'POST', body })).status, 200)
      assert.equal(seen.length, 2)
      assert.notEqual(seen[0]?.headers['x-sig-nonce'], seen[1]?.headers['x-sig-nonce'])
      assert.equal(seen[1]?.body, body)
      assert.equal((await api(`${url}/a`)).status, 200)
      assert.equal(seen.length, 3)
    },
  )
})

test('signedFetch does not retry if its clock is right', async () => {
  await withServer(
    () => ({ status: 401, date: new Date() }),
    async (url, seen) => {
      const api = signedFetch({ keyId: 'dev_1', secret: known.secret })
      assert.equal((await api(`${url}/a`)).status, 401)
      assert.equal(seen.length, 1)
    },
  )
})

test('signedFetch does not trust the Date of a plain http server on another machine', async () => {
  const calls: unknown[] = []
  const far = new Response('', { status: 401, headers: { date: new Date(Date.now() + 3_600_000).toUTCString() } })
  const send = async (...args: unknown[]): Promise<Response> => {
    calls.push(args)
    return far
  }
  const api = signedFetch({ keyId: 'dev_1', secret: known.secret, fetch: send })
  assert.equal((await api('http://api.example.com/a')).status, 401)
  assert.equal(calls.length, 1)
})

test('signedFetch returns a redirect', async () => {
  await withServer(
    () => ({ status: 307, date: new Date() }),
    async (url, seen) => {
      const api = signedFetch({ keyId: 'dev_1', secret: known.secret })
      assert.equal((await api(`${url}/a`)).status, 307)
      assert.equal(seen.length, 1)
    },
  )
})

test('signedFetch by RFC 9421 covers what it sends, for every kind of body, with a secret and with a device key', async () => {
  const device = await generateDeviceKey()
  const credentials = [
    [{ secret: known.secret }, signingKey(known.secret)],
    [{ privateKey: device.privateKey }, publicSigningKey(device.publicKey)],
  ] as const
  for (const [credential, key] of credentials) {
    await withServer(
      () => ({ status: 200, date: new Date() }),
      async (url, seen) => {
        const api = signedFetch({ profile: 'rfc9421', keyId: 'dev_1', ...credential, token: () => 'abc.def.ghi', timezone: 'Europe/Paris' })
        await api(`${url}/p?q=C:\\1`, { headers: { 'content-digest': 'of the caller' } })
        for (const body of ['text', new URLSearchParams({ a: '1' }), new Blob(['blob']), new Uint8Array([1, 2])])
          await api(`${url}/p?q=1`, { method: 'POST', body })
        await api(new Request(`${url}/p?q=1`, { method: 'PUT', body: '{}', headers: { 'content-type': 'application/json' } }))
        assert.equal(seen.length, 6)
        for (const { method, url: target, headers, body } of seen) {
          const claim = readSignature(Object.entries(headers).flat() as string[], signatureHeaderNames())
          assert.ok(claim.ok, JSON.stringify(claim))
          assert.ok(!('ok' in checkMac(method, signedTarget(target), claim, [key], decoyKey())), method)
          assert.equal(checkBody(claim, Buffer.from(body, 'utf8')), undefined)
          assert.deepEqual([headers.authorization, headers['x-sig-timezone']], ['Bearer abc.def.ghi', 'Europe/Paris'])
          assert.equal(headers['content-digest'] === undefined, method === 'GET')
        }
        assert.equal(new Set(seen.map(({ headers }) => headers['signature-input'])).size, 6)
      },
    )
  }
})

test('signedFetch by RFC 9421 also learns the offset of a wrong clock', async () => {
  const createdOf = (seen: Seen): number => Number(/;created=(\d+);/.exec(seen.headers['signature-input'] ?? '')?.[1]) * 1000
  await withServer(
    (seen) => ({ status: Math.abs(createdOf(seen) - Date.now()) > 60_000 ? 401 : 200, date: new Date() }),
    async (url, seen) => {
      const api = signedFetch({ profile: 'rfc9421', keyId: 'dev_1', secret: known.secret, now: () => Date.now() + 600_000 })
      assert.equal((await api(`${url}/a`)).status, 200)
      assert.equal(seen.length, 2)
    },
  )
})
