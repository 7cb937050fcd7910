import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createReadStream, openAsBlob } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, pipeline, Readable, Stream } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createGzip, gzipSync } from 'node:zlib'
import type { Context } from 'koa'
import { ZinError } from '../errors.js'
import type { EndedRequest } from '../hooks/catalogue.js'
import { EventStreams } from './event-stream.js'
import { exchange, listen, makeApp, RawClient, rawRequest, route, statusOf } from './test-support.js'

const failure = new Error('disk failed')
const teapot = new ZinError('NO_COFFEE', 'no coffee', { status: 418 })

/** A body in each form, that gives `parts` and then fails with `error`, or ends. */
const forms: Readonly<Record<string, (parts: readonly string[], error?: Error) => unknown>> = {
  generator: (parts, error) => generate(parts, error),
  'readable of a generator': (parts, error) => Readable.from(generate(parts, error)),
  'pushed readable': (parts, error) => {
    const left = [...parts]
    return new Readable({
      read() {
        const next = left.shift()
        if (next !== undefined) this.push(next)
        else if (error === undefined) this.push(null)
        else this.destroy(error)
      },
    })
  },
  'pass-through': (parts, error) => {
    const through = new PassThrough()
    through.once('resume', () => void pipeline(Readable.from(generate(parts, error)), through, () => undefined))
    return through
  },
  'web stream': (parts, error) => webOf(parts, error),
  response: (parts, error) => new Response(webOf(parts, error)),
  'old-style stream': (parts, error) => {
    const source = Readable.from(generate(parts, error))
    const old = Object.assign(new Stream(), { pause: () => source.pause(), resume: () => source.resume() })
    for (const event of ['data', 'end', 'error', 'close']) source.on(event, (value) => void old.emit(event, value))
    return old
  },
}

async function* generate(parts: readonly string[], error: Error | undefined): AsyncGenerator<string> {
  for (const part of parts) {
    yield part
    await turn()
  }
  if (error !== undefined) throw error
}

function webOf(parts: readonly string[], error: Error | undefined): ReadableStream {
  const left = parts.map((part) => Buffer.from(part))
  return new ReadableStream({
    pull(controller) {
      const next = left.shift()
      if (next !== undefined) controller.enqueue(next)
      else if (error === undefined) controller.close()
      else controller.error(error)
    },
  })
}

/** Ways in which a handler or a middleware passes a body on. */
const ways: Readonly<Record<string, (ctx: Context, body: unknown) => unknown>> = {
  returned: (_ctx, body) => body,
  'returned later': (_ctx, body) => Promise.resolve(body),
  'set on the context': (ctx, body) => void (ctx.body = body),
  'set before something is awaited': async (ctx, body) => {
    ctx.body = body
    await turn()
    await turn()
  },
}

async function serve(t: TestContext, handler: (ctx: Context) => unknown) {
  const ended: EndedRequest[] = []
  const waiting: (() => void)[] = []
  const made = makeApp(t, [route({ method: 'GET', path: '/', handler: (ctx) => handler(ctx as unknown as Context) })], {
    logRequests: true,
    requestEnd: {
      active: true,
      call: (request: EndedRequest) => {
        ended.push(request)
        for (const wake of waiting.splice(0)) wake()
      },
    },
  })
  const port = await listen(made.app)
  const end = async (): Promise<EndedRequest> => {
    while (ended.length === 0) await new Promise<void>((resolve) => void waiting.push(resolve))
    return ended[0] as EndedRequest
  }
  /** Sends a request and returns what came back and how the request was counted. */
  const ask = async (method = 'GET') => {
    const text = await exchange(port, rawRequest(`${method} /`))
    const { status, complete } = await end()
    const line = made.log.lines.find(({ msg }) => msg === 'request')
    return { text, counted: [status, complete], logged: [line?.status, line?.complete], failures: made.failures }
  }
  return { ...made, port, end, ask }
}

const isWhole = (text: string): boolean => text.endsWith('\r\n0\r\n\r\n')

describe('a body that is a stream', () => {
  for (const [form, make] of Object.entries(forms))
    for (const [way, give] of Object.entries(ways)) {
      test(`is sent completely: ${form}, ${way}`, async (t) => {
        const { ask } = await serve(t, (ctx) => give(ctx, make(['the whole', ' text'])))
        const { text, counted, logged, failures } = await ask()
        assert.equal(statusOf(text), 200)
        assert.ok(isWhole(text) && text.includes('the whole') && text.includes(' text'), text)
        assert.deepEqual([counted, logged, failures.length], [[200, true], [200, true], 0])
      })
      test(`is an error response if it fails before its first byte: ${form}, ${way}`, async (t) => {
        for (const [error, status, code] of [
          [failure, 500, 'INTERNAL_ERROR'],
          [teapot, 418, 'NO_COFFEE'],
        ] as const) {
          const { ask } = await serve(t, (ctx) => {
            ctx.set('Content-Disposition', 'attachment')
            return give(ctx, make([], error))
          })
          const { text, counted, logged, failures } = await ask()
          assert.equal(statusOf(text), status, text)
          assert.equal(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).code, code)
          assert.match(text, /x-request-id: /i)
          assert.doesNotMatch(text, /content-disposition/i)
          assert.deepEqual(
            [counted, logged],
            [
              [status, true],
              [status, true],
            ],
          )
          assert.deepEqual(
            failures.map(({ error: cause, failed }) => [cause, failed.status]),
            status === 500 ? [[failure, 500]] : [],
          )
        }
      })
      // It has failed before it is sent.
      if (form === 'old-style stream' && way === 'set before something is awaited') continue
      test(`cuts the connection and counts as failed if it fails later: ${form}, ${way}`, async (t) => {
        for (const error of [failure, teapot]) {
          const { ask, log } = await serve(t, (ctx) => give(ctx, make(['part'], error)))
          const { text, counted, logged, failures } = await ask()
          assert.equal(statusOf(text), 200)
          assert.ok(!isWhole(text), text)
          assert.deepEqual(
            [counted, logged],
            [
              [500, false],
              [500, false],
            ],
          )
          assert.deepEqual(
            failures.map(({ error: cause, failed }) => [cause, failed.status]),
            [[error, 500]],
          )
          assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1)
        }
      })
    }
})

describe('a stream', () => {
  const faults: Readonly<Record<string, readonly [status: number, body: (ctx: Context) => unknown]>> = {
    'of a missing file': [404, () => createReadStream('/missing/file')],
    'of a missing file, opened before something is awaited': [
      404,
      async (ctx) => {
        const file = (ctx.body = createReadStream('/missing/file'))
        await once(file, 'close').catch(() => undefined)
      },
    ],
    'of a missing file that is compressed': [404, (ctx) => ((ctx.body = createReadStream('/missing/file')), compress(ctx))],
    'that is compressed and fails': [500, (ctx) => ((ctx.body = Readable.from(generate([], failure))), compress(ctx))],
    'that is compressed and destroyed': [500, (ctx) => ((ctx.body = new PassThrough().destroy()), compress(ctx))],
    'of a folder': [404, () => createReadStream(tmpdir())],
    'destroyed without an error': [500, () => new PassThrough().destroy()],
    'destroyed later without an error': [
      500,
      () => {
        const through = new PassThrough()
        setImmediate(() => through.destroy())
        return through
      },
    ],
    'that had been read': [
      500,
      async () => {
        const read = Readable.from(['text'])
        await read.toArray()
        return read
      },
    ],
    'of a web stream that is read elsewhere': [
      500,
      () => {
        const stream = webOf(['text'], undefined)
        stream.getReader()
        return stream
      },
    ],
    'of objects': [500, () => Readable.from([{ a: 1 }])],
    'of numbers': [500, () => generate([1 as unknown as string], undefined)],
    'that is empty against its Content-Length': [500, (ctx) => (ctx.set('Content-Length', '5'), Readable.from([]))],
    'that is longer than its Content-Length': [500, (ctx) => (ctx.set('Content-Length', '2'), Readable.from(['part']))],
    'of a file that has gone': [
      500,
      async () => {
        const path = join(tmpdir(), `zin-blob-${process.pid}`)
        await writeFile(path, 'text')
        const blob = await openAsBlob(path)
        await rm(path)
        return blob
      },
    ],
  }
  for (const [name, [status, body]] of Object.entries(faults))
    test(`${name} is ${status} with the usual body, for GET and HEAD`, async (t) => {
      for (const method of ['GET', 'HEAD']) {
        if (method === 'HEAD' && /Content-Length/.test(name)) continue
        const { text, counted } = await (await serve(t, body)).ask(method)
        assert.deepEqual([statusOf(text), ...counted], [status, status, true], `${method} ${text}`)
        assert.equal(/"code":/.test(text), method === 'GET')
        assert.doesNotMatch(text, /content-encoding|missing/i)
      }
    })

  const cuts: Readonly<Record<string, (ctx: Context) => unknown>> = {
    'that ends early against its Content-Length': (ctx) => (ctx.set('Content-Length', '50'), Readable.from(['part'])),
    'that becomes longer than its Content-Length': (ctx) => (ctx.set('Content-Length', '5'), Readable.from(['part', 'part'])),
    'that is destroyed after a part': () => {
      const through = new PassThrough()
      through.write('part')
      through.once('data', () => setImmediate(() => through.destroy()))
      return through
    },
    'that gives an object after a part': () => Readable.from(['part', {}]),
    'that fails after its headers were flushed': (ctx) => (ctx.flushHeaders(), Readable.from(generate([], failure))),
    'that is compressed and fails after a part': (ctx) => (
      (ctx.body = Readable.from(generate(['part'.repeat(100_000), 'part'], failure))), compress(ctx)
    ),
  }
  for (const [name, body] of Object.entries(cuts))
    test(`${name} is cut, and counts as failed`, async (t) => {
      const { text, counted, failures } = await (await serve(t, body)).ask()
      assert.equal(statusOf(text), 200)
      assert.ok(!isWhole(text))
      assert.deepEqual([counted, failures.length], [[500, false], 1])
    })

  test('that fails resets the connection of a client of HTTP/1.0, for which an end would complete the response', async (t) => {
    const { port, end } = await serve(t, () => generate(['part'], failure))
    const client = await RawClient.open(port)
    const reset = once(client.socket, 'error')
    client.send('GET / HTTP/1.0\r\nHost: localhost\r\n\r\n')
    const [error] = (await reset) as [NodeJS.ErrnoException]
    assert.deepEqual([error.code, (await end()).status], ['ECONNRESET', 500])
  })

  test('of an answer that a server upstream cuts is cut, too', async (t) => {
    const upstream = createServer((_req, res) => {
      res.write('part')
      setImmediate(() => res.destroy())
    }).listen(0, '127.0.0.1')
    t.after(() => upstream.close())
    await once(upstream, 'listening')
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
    const { text, counted } = await (await serve(t, async () => await fetch(url))).ask()
    assert.equal(statusOf(text), 200)
    assert.ok(!isWhole(text))
    assert.deepEqual(counted, [500, false])
  })

  test('of a compressed answer upstream is sent as fetch has decoded it', async (t) => {
    const upstream = createServer((_req, res) => {
      res.setHeader('Content-Encoding', 'gzip').setHeader('Content-Type', 'text/plain')
      res.end(gzipSync('text '.repeat(1000)))
    }).listen(0, '127.0.0.1')
    t.after(() => upstream.close())
    await once(upstream, 'listening')
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
    const { app } = await serve(t, async () => await fetch(url))
    const { text, headers } = await app.inject({ path: '/' })
    assert.deepEqual([text, headers['content-encoding']], ['text '.repeat(1000), undefined])
  })

  test('whose client disconnects is destroyed, which is no error of the app', async (t) => {
    for (const [form, make] of Object.entries(forms)) {
      const long = Array.from({ length: 100 }, () => 'part'.repeat(50_000))
      const { port, end, log, failures } = await serve(t, () => make(long))
      const client = await RawClient.open(port)
      client.send(rawRequest('GET /'))
      await client.until(/part/)
      client.socket.destroy()
      const { status, complete } = await end()
      await turn()
      assert.deepEqual([status, complete, failures.length], [200, false, 0], form)
      assert.deepEqual(
        log.lines.filter(({ level }) => level === 'error'),
        [],
        form,
      )
    }
  })

  test('of events that is closed for a slow client is no error of the app', async (t) => {
    const streams = new EventStreams()
    const { port, end, log } = await serve(t, (ctx) => {
      const stream = streams.open(ctx, () => undefined)
      const flood = (): void => {
        if (stream.send({ data: 'x'.repeat(100_000) })) setImmediate(flood)
      }
      flood()
    })
    const client = await RawClient.open(port)
    client.socket.pause()
    client.send(rawRequest('GET /'))
    assert.deepEqual(await end().then(({ status, complete }) => [status, complete]), [200, false])
    assert.deepEqual(
      log.lines.filter(({ level }) => level === 'error'),
      [],
    )
    client.socket.destroy()
  })

  test('waits for a client that reads slowly', async (t) => {
    let given = 0
    async function* pieces(): AsyncGenerator<string> {
      for (; given < 2000; given++) yield 'x'.repeat(10_000)
    }
    const { port, end } = await serve(t, () => pieces())
    const client = await RawClient.open(port)
    client.socket.pause()
    client.send(rawRequest('GET /'))
    let before = -1
    while (before !== given) {
      before = given
      for (let turns = 0; turns < 50; turns++) await turn()
    }
    assert.ok(given < 2000, `${given}`)
    client.socket.resume()
    assert.deepEqual(await end().then(({ complete }) => complete), true)
    await client.closed
    assert.ok(client.text.length > 20_000_000)
  })

  test('leaves the status of HEAD as it is for GET and sends nothing of its body', async (t) => {
    for (const [form, make] of Object.entries(forms)) {
      const { text } = await (await serve(t, () => make(['part']))).ask('HEAD')
      assert.equal(statusOf(text), 200, form)
      assert.match(text, /\r\n\r\n$/, form)
    }
  })
})

test('bytes are sent as they are, whatever holds them', async (t) => {
  const bytes = new Uint8Array([1, 2, 250, 0])
  const held = {
    view: bytes,
    part: new Uint8Array([9, ...bytes, 9]).subarray(1, 5),
    buffer: bytes.buffer,
    data: new DataView(bytes.buffer),
    blob: new Blob([bytes]),
  }
  for (const [name, body] of Object.entries(held))
    for (const give of Object.values(ways)) {
      const { app } = await serve(t, (ctx) => give(ctx, body))
      const response = await app.inject({ path: '/' })
      assert.deepEqual([[...response.bytes], response.headers['content-length']], [[...bytes], '4'], name)
      assert.equal(response.headers['content-type'], 'application/octet-stream', name)
    }
})

/** What a compressing middleware does. */
function compress(ctx: Context): void {
  const source = ctx.body as Readable
  const zipped = createGzip()
  ctx.set('Content-Encoding', 'gzip')
  ctx.body = zipped
  source.pipe(zipped)
}
