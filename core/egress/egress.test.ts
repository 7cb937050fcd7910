import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, beforeEach, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type EgressOptions, egressFetch } from './egress.js'

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

describe('egressFetch', () => {
  const servers: Server[] = []
  let seen: Seen[] = []

  async function serve(listener: RequestListener): Promise<number> {
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      seen.push({ method: request.method, url: request.url, headers: request.headers, body })
      listener(request, response)
    })
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  const resolver = async (): Promise<readonly string[]> => ['127.0.0.1']
  const get = (url: string, options: EgressOptions = {}) => egressFetch(url, { allowPrivate: true, ...options }, { resolver })
  const answer =
    (text: string | Buffer, headers: Record<string, string> = {}, status = 200) =>
    (_request: unknown, response: ServerResponse): void =>
      void response.writeHead(status, headers).end(text)

  beforeEach(() => {
    seen = []
  })
  after(() =>
    servers.forEach((server) => {
      server.close()
      server.closeAllConnections()
    }),
  )

  it('returns status, headers and body of a response, whatever its status', async () => {
    const port = await serve(answer('no', { 'x-a': 'b' }, 404))
    const { status, headers, body, url } = await get(`http://api.test:${port}/x?y#z`)
    assert.deepEqual([status, headers['x-a'], String(body), url], [404, 'b', 'no', `http://api.test:${port}/x?y#z`])
    assert.equal(seen[0]?.url, '/x?y')
    assert.equal(seen[0]?.headers.host, `api.test:${port}`)
  })

  it('sends method, headers and body, and requests no compression', async () => {
    const port = await serve(answer('ok'))
    await get(`http://api.test:${port}/`, { method: 'POST', headers: { 'x-sig': '1' }, body: '{"a":1}' })
    assert.deepEqual([seen[0]?.method, seen[0]?.headers['x-sig'], seen[0]?.body], ['POST', '1', '{"a":1}'])
    assert.equal(seen[0]?.headers['accept-encoding'], undefined)
  })

  it('does not decompress a response, so that its size is that on the wire', async () => {
    const packed = gzipSync('x'.repeat(100_000))
    const port = await serve(answer(packed, { 'content-encoding': 'gzip' }))
    assert.deepEqual((await get(`http://api.test:${port}/`, { maxBytes: packed.length })).body, packed)
  })

  it('resolves a name once and connects to the address it checked', async () => {
    const port = await serve(answer('first'))
    const answers = ['127.0.0.1', '127.0.0.2']
    let asked = 0
    const { body } = await egressFetch(
      `http://rebinding.test:${port}/`,
      { allowPrivate: true },
      { resolver: async () => [answers[asked++] ?? ''] },
    )
    assert.deepEqual([String(body), asked], ['first', 1])
  })

  it('refuses a name with an internal address, even if another of its addresses is public', async () => {
    const port = await serve(answer('inside'))
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::ffff:127.0.0.1'], ['::1']]) {
      const fetched = egressFetch(`http://inside.test:${port}/`, {}, { resolver: async () => addresses })
      await assert.rejects(fetched, { code: 'EGRESS_BLOCKED' })
    }
    await assert.rejects(egressFetch(`http://localhost:${port}/`), { code: 'EGRESS_BLOCKED' })
    assert.equal(seen.length, 0)
  })

  it('reports a name without an address', async () => {
    const fail = (resolver: () => Promise<readonly string[]>) => egressFetch('http://gone.test/', {}, { resolver })
    await assert.rejects(
      fail(async () => []),
      { code: 'EGRESS_FAILED' },
    )
    await assert.rejects(
      fail(async () => {
        throw new Error('ENOTFOUND')
      }),
      { code: 'EGRESS_FAILED', message: /ENOTFOUND/ },
    )
  })

  it('reports a refused and a broken connection', async () => {
    const gone = createServer()
    gone.listen(0, '127.0.0.1')
    await once(gone, 'listening')
    const { port } = gone.address() as AddressInfo
    gone.close()
    await once(gone, 'close')
    await assert.rejects(get(`http://api.test:${port}/`), { code: 'EGRESS_FAILED' })
    const broken = await serve((request, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('half', () => request.socket.destroy())
    })
    await assert.rejects(get(`http://api.test:${broken}/`), { code: 'EGRESS_FAILED' })
  })

  it('stops reading a response that is too large, with and without a length', async () => {
    const declared = await serve(answer('x'.repeat(1001)))
    await assert.rejects(get(`http://api.test:${declared}/`, { maxBytes: 1000 }), { code: 'EGRESS_TOO_LARGE' })
    let closed: Promise<unknown> | undefined
    const endless = await serve((_request, response) => {
      closed = once(response, 'close')
      const more = (): void => void (response.destroyed || (response.write('x'.repeat(10_000)), setImmediate(more)))
      more()
    })
    await assert.rejects(get(`http://api.test:${endless}/`, { maxBytes: 50_000 }), { code: 'EGRESS_TOO_LARGE' })
    await closed
    assert.equal((await get(`http://api.test:${declared}/`, { maxBytes: 1001 })).body.length, 1001)
  })

  it('times out on a silent server, a slow one, and a silent name server', async () => {
    const silent = await serve(() => undefined)
    await assert.rejects(get(`http://api.test:${silent}/`, { timeoutMs: 50 }), { code: 'EGRESS_TIMEOUT', status: 504 })
    const dripping = await serve((_request, response) => {
      const timer = setInterval(() => response.write('x'), 10)
      response.on('close', () => clearInterval(timer))
    })
    await assert.rejects(get(`http://api.test:${dripping}/`, { timeoutMs: 80 }), { code: 'EGRESS_TIMEOUT' })
    const never = new Promise<never>(() => undefined)
    await assert.rejects(egressFetch('http://api.test/', { timeoutMs: 20 }, { resolver: () => never }), { code: 'EGRESS_TIMEOUT' })
  })

  it('rejects with the reason of its signal, before and during the request', async () => {
    const reason = new Error('not needed')
    const silent = await serve(() => undefined)
    await assert.rejects(get(`http://api.test:${silent}/`, { signal: AbortSignal.abort(reason) }), reason)
    assert.equal(seen.length, 0)
    const stop = new AbortController()
    const port = await serve(() => stop.abort(reason))
    await assert.rejects(get(`http://api.test:${port}/`, { signal: stop.signal }), reason)
  })

  describe('redirects', () => {
    it('are not followed by default', async () => {
      const port = await serve(answer('', { location: 'http://other.test/' }, 302))
      assert.equal((await get(`http://api.test:${port}/`)).status, 302)
    })

    it('are followed up to the maximum, and the next one is returned as the response', async () => {
      const port = await serve((request, response) => {
        const left = Number(request.url?.slice(1))
        if (left === 0) response.end('end')
        else response.writeHead(307, { location: `/${left - 1}` }).end()
      })
      assert.equal(String((await get(`http://api.test:${port}/2`, { maxRedirects: 2 })).body), 'end')
      assert.equal((await get(`http://api.test:${port}/3`, { maxRedirects: 2 })).status, 307)
    })

    const traps = [
      'http://169.254.169.254/latest',
      'http://2852039166/',
      'file:///etc/passwd',
      'http://user:x@api.test/',
      '//evil.test/',
      'http://',
    ]
    for (const location of traps) {
      it(`to ${location} are refused`, async () => {
        const port = await serve(answer('', { location }, 302))
        const fetched = get(`http://api.test:${port}/`, { maxRedirects: 5, allowHosts: [`api.test:${port}`] })
        await assert.rejects(fetched, { code: 'EGRESS_BLOCKED' })
      })
    }

    it('to a name with an internal address are refused', async () => {
      const inside = await serve(answer('secret'))
      const names: Readonly<Record<string, string>> = { 'inside.test': '169.254.1.1', 'api.test': '127.0.0.1' }
      const port = await serve(answer('', { location: `http://inside.test:${inside}/` }, 301))
      const fetched = egressFetch(
        `http://api.test:${port}/`,
        { allowPrivate: true, maxRedirects: 1 },
        { resolver: async (name) => [names[name] ?? ''] },
      )
      await assert.rejects(fetched, { code: 'EGRESS_BLOCKED' })
      assert.equal(seen.length, 1)
    })

    it('that turn a POST into a GET drop the headers of its body', async () => {
      const port = await serve((request, response) => {
        if (request.url === '/next') response.end('ok')
        else response.writeHead(303, { location: '/next' }).end()
      })
      const headers = { 'Content-Type': 'application/json', 'content-length': '2', 'x-sig': 'y' }
      await get(`http://api.test:${port}/`, { maxRedirects: 1, method: 'POST', body: '{}', headers, timeoutMs: 2_000 })
      const { method, headers: sent } = seen[1] ?? assert.fail('no second request')
      assert.deepEqual([method, sent['content-type'], sent['content-length'], sent['x-sig']], ['GET', undefined, undefined, 'y'])
    })

    it('to another origin drop credentials, and turn a POST into a GET', async () => {
      const target = await serve(answer('ok'))
      const port = await serve(answer('', { location: `http://other.test:${target}/` }, 302))
      const headers = { authorization: 'Bearer x', 'X-Sig': 'y', accept: 'text/plain' }
      await get(`http://api.test:${port}/`, { maxRedirects: 1, method: 'POST', body: 'secret', headers })
      const { method, body, headers: sent } = seen[1] ?? assert.fail('no second request')
      assert.deepEqual([method, body, sent.authorization, sent['x-sig'], sent.accept], ['GET', '', undefined, undefined, 'text/plain'])
    })
  })
})
