import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { type Access, definePlugin, EventStreams, noteAccess, requestContext } from 'zin'
import { createTestHost } from 'zin/testing'

describe('an event stream', () => {
  /** Creates an app with one stream; `send` sends to all its clients. */
  const start = async (access?: Access) => {
    const streams = new EventStreams()
    const open: ReturnType<EventStreams['open']>[] = []
    let onEnd: () => void = () => undefined
    const ended = new Promise<void>((resolve) => {
      onEnd = resolve
    })
    const events = definePlugin({
      name: 'events',
      version: '1.0.0',
      setup(ctx) {
        ctx.hooks.on('onClose', () => streams.closeAll())
        ctx.route({
          method: 'GET',
          path: '/events',
          summary: 'Events',
          handler: (request) => {
            if (access !== undefined) noteAccess(request, () => access)
            open.push(streams.open(request, onEnd))
          },
        })
      },
    })
    const host = await createTestHost({ plugins: [events()], listen: true })
    const [response] = (await once(get(`${host.url}/events`), 'response')) as [IncomingMessage]
    return { host, response, streams, stream: open[0], ended }
  }

  it('sends events immediately', async () => {
    const { host, response, stream } = await start()
    assert.equal(response.headers['content-type'], 'text/event-stream')
    assert.equal(response.headers['cache-control'], 'no-store')
    response.setEncoding('utf8')
    let text = ''
    response.on('data', (chunk: string) => {
      text += chunk
    })
    assert.equal(stream?.send({ event: 'change', data: { text: 'two\nlines' } }), true)
    while (!text.includes('data:')) await once(response, 'data')
    assert.equal(text, ': listening\n\nevent: change\ndata: {"text":"two\\nlines"}\n\n')
    await host.stop()
  })

  it('refuses an event name with a line break, which would add fields of its own, and sends nothing of it', async () => {
    const { host, response, stream } = await start()
    response.setEncoding('utf8')
    let text = ''
    response.on('data', (chunk: string) => {
      text += chunk
    })
    try {
      for (const lineBreak of ['\n', '\r', '\r\n'])
        assert.throws(() => stream?.send({ event: `a${lineBreak}data: forged`, data: 1 }), { name: 'TypeError', message: /"event"/ })
      assert.equal(stream?.send({ event: 'last', data: 2 }), true)
      while (!text.includes('data:')) await once(response, 'data')
      assert.equal(text, ': listening\n\nevent: last\ndata: 2\n\n')
    } finally {
      await host.stop()
    }
  })

  it('ends when the app stops, without waiting for its clients', async () => {
    const { host, response, streams, ended } = await start()
    response.resume()
    const over = once(response, 'end')
    await host.stop()
    await over
    await ended
    assert.equal(streams.size, 0)
  })

  it('ends after a quarter of an hour, so that access is checked again', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { host, response, streams, stream, ended } = await start()
    response.resume()
    t.mock.timers.tick(15 * 60_000 - 1)
    assert.equal(stream?.send({ data: 1 }), true)
    const over = once(response, 'end')
    t.mock.timers.tick(1)
    assert.equal(stream?.send({ data: 2 }), false)
    await over
    await ended
    assert.equal(streams.size, 0)
    t.mock.timers.reset()
    await host.stop()
  })

  it('ends if a recheck of its access never finishes', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
    const { host, response, streams, ended } = await start({ lastsMs: 60_000, holds: () => new Promise(() => undefined) })
    response.resume()
    const over = once(response, 'end')
    t.mock.timers.tick(15_000)
    assert.equal(streams.size, 1)
    t.mock.timers.tick(15_000)
    await over
    await ended
    t.mock.timers.reset()
    await host.stop()
  })

  it('detects a client that disconnects', async () => {
    const { host, response, stream, streams, ended } = await start()
    response.destroy()
    await ended
    assert.equal(streams.size, 0)
    assert.equal(stream?.send({ data: 1 }), false)
    await host.stop()
  })

  it('disconnects a client that does not read', async () => {
    const { host, response, stream, ended } = await start()
    response.pause()
    const data = 'x'.repeat(200_000)
    let sent = 0
    while (stream?.send({ data }) === true) sent++
    await ended
    assert.ok(sent > 4 && sent < 200)
    response.destroy()
    await host.stop()
  })

  it('is refused to a client that has reached its limit, and to all clients when the group is full', async () => {
    const streams = new EventStreams({ perClient: 2, total: 3 })
    const ends: Promise<void>[] = []
    const events = definePlugin({
      name: 'events',
      version: '1.0.0',
      setup(ctx) {
        ctx.hooks.on('onClose', () => streams.closeAll())
        ctx.middleware({
          key: 'user',
          handler: (request, next) => {
            const context = requestContext()
            if (context) context.userId = request.get('x-user') || undefined
            return next()
          },
        })
        ctx.route({
          method: 'GET',
          path: '/events',
          summary: 'Events',
          use: ['user'],
          handler: (request) => {
            let end = (): void => undefined
            streams.open(request, () => end())
            ends.push(new Promise((resolve) => (end = resolve)))
          },
        })
      },
    })
    const host = await createTestHost({ plugins: [events()], listen: true })
    const open = async (user: string) => {
      const [response] = (await once(get(`${host.url}/events`, { headers: { 'x-user': user } }), 'response')) as [IncomingMessage]
      return response.resume()
    }
    const refusal = async (user: string) => {
      const response = await host.inject({ path: '/events', headers: { 'x-user': user } })
      return [response.status, response.body.code]
    }
    const [first] = [await open('ada'), await open('ada')]
    assert.deepEqual(await refusal('ada'), [429, 'TOO_MANY_STREAMS'])
    await open('')
    assert.deepEqual(await refusal('eve'), [503, 'STREAMS_EXHAUSTED'])
    first?.destroy()
    await ends[0]
    await open('')
    assert.deepEqual(await refusal(''), [429, 'TOO_MANY_STREAMS'])
    await host.stop()
    assert.equal(streams.size, 0)
  })

  it('counts the addresses of one IPv6 /64 as one client, and an IPv4 address in either form as one', async () => {
    const streams = new EventStreams({ perClient: 1 })
    const events = definePlugin({
      name: 'events',
      version: '1.0.0',
      setup(ctx) {
        ctx.hooks.on('onClose', () => streams.closeAll())
        ctx.route({ method: 'GET', path: '/events', summary: 'Events', handler: (it) => void streams.open(it, () => undefined) })
      },
    })
    const host = await createTestHost({ plugins: [events()], listen: true, app: { trustedProxies: 1 } })
    const open = async (address: string): Promise<number | undefined> => {
      const [response] = (await once(get(`${host.url}/events`, { headers: { 'x-forwarded-for': address } }), 'response')) as [
        IncomingMessage,
      ]
      response.resume()
      return response.statusCode
    }
    const statuses: (number | undefined)[] = []
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:3::1', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2'])
      statuses.push(await open(address))
    await host.stop()
    assert.deepEqual(statuses, [200, 429, 200, 200, 429, 200])
  })
})
