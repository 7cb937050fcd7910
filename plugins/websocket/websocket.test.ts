import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { defineMiddleware, noteAccess, refuse, requestContext, Type, ZinError } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { eventually } from '../../scripts/testing/eventually.js'
import { websocketService } from './index.js'
import { socketApp } from './testing/app.js'
import { refusal } from './testing/client.js'

const message = Type.Object({ text: Type.String({ maxLength: 5 }), times: Type.Integer({ default: 1 }) }, { additionalProperties: false })

describe('messages of a socket', () => {
  it('are validated by the schema, with defaults, and refused as a message with a code', async (t) => {
    const app = await socketApp(t, {}, ({ socket }) =>
      socket({ path: '/a', message, handler: (client, { text, times }) => void client.send(text.repeat(times)) }),
    )
    const client = await app.open('/a')
    client.send({ text: 'ab', times: 2 })
    assert.equal(await client.next(), 'abab')
    client.send({ text: 'ab' })
    assert.equal(await client.next(), 'ab')
    client.send({ text: 'too long', more: 1 })
    const refused = (await client.next()) as { code: string; details: { field: string; code: string }[] }
    assert.equal(refused.code, 'SOCKET_MESSAGE_INVALID')
    assert.deepEqual(refused.details.map(({ field, code }) => [field, code]).sort(), [
      ['message.more', 'ADDITIONAL_PROPERTIES'],
      ['message.text', 'MAX_LENGTH'],
    ])
    for (const text of ['', '{', '\ufeff{}', '{"a":"\\ud800"}', '['.repeat(600)]) {
      client.ws.send(text)
      assert.equal(((await client.next()) as { code: string }).code, 'INVALID_JSON', JSON.stringify(text))
    }
    client.ws.send('{"text":"a","__proto__":{"times":9}}')
    assert.equal(await client.next(), 'a')
  })

  it('are handled one at a time, in order, in the context of the request', async (t) => {
    let running = 0
    let most = 0
    const app = await socketApp(t, { messagesPerSecond: 1000 }, ({ socket }) =>
      socket({
        path: '/a',
        handler: async (client, given) => {
          most = Math.max(most, ++running)
          await new Promise(setImmediate)
          running--
          client.send({ given, same: requestContext()?.requestId === client.id })
        },
      }),
    )
    const client = await app.open('/a')
    for (let i = 0; i < 100; i++) client.send(i)
    for (let i = 0; i < 100; i++) assert.deepEqual(await client.next(), { given: i, same: true })
    assert.equal(most, 1)
  })

  it('that a handler fails on are answered with the code of its error, without details in production', async (t) => {
    const setup: Parameters<typeof socketApp>[2] = ({ socket }) =>
      socket({
        path: '/a',
        handler: (_client, given) => {
          if (given === 'known') throw new ZinError('ROOM_FULL', 'The room is full', { status: 409, details: { most: 3 } })
          return Promise.reject(new Error('the password is hunter2'))
        },
      })
    const app = await socketApp(t, {}, setup, { env: { NODE_ENV: 'production', APP_NAME: 'x' } })
    const client = await app.open('/a')
    client.send('known')
    assert.deepEqual(await client.next(), { error: 'Room full', message: 'The room is full', code: 'ROOM_FULL', details: { most: 3 } })
    client.send('other')
    const failed = await client.next()
    assert.equal((failed as { code: string }).code, 'INTERNAL_ERROR')
    assert.doesNotMatch(JSON.stringify(failed), /hunter2/)
    assert.ok(app.host.logs.some(({ msg }) => msg === 'the handler of a socket failed'))
    client.send('known')
    assert.equal(((await client.next()) as { code: string }).code, 'ROOM_FULL')
  })

  it('onOpen comes first and onClose last, once, whoever ends the connection; the signal aborts', async (t) => {
    const events: string[] = []
    const app = await socketApp(t, {}, ({ socket }) =>
      socket({
        path: '/a',
        onOpen: async () => {
          await new Promise(setImmediate)
          events.push('open')
        },
        handler: (client, given) => {
          events.push(String(given))
          if (given === 'bye') client.close(4000, 'as asked')
        },
        onClose: (client, { code, reason }) => void events.push(`${code} ${reason} ${client.signal.aborted}`),
      }),
    )
    const first = await app.open('/a')
    first.send('hello')
    first.send('bye')
    assert.deepEqual(await first.ended, { code: 4000, reason: 'as asked' })
    await eventually('it has closed', async () => events.length === 4)
    const second = await app.open('/a')
    second.ws.terminate()
    await eventually('it has closed, too', async () => events.length === 6)
    assert.deepEqual(events, ['open', 'hello', 'bye', '4000 as asked true', 'open', '1006  true'])
    const failing = await socketApp(t, {}, ({ socket }) =>
      socket({
        path: '/a',
        onOpen: () => {
          throw new ZinError('NO_ROOM', 'No room', { status: 404 })
        },
        handler: () => undefined,
      }),
    )
    const refused = await failing.open('/a')
    assert.equal(((await refused.next()) as { code: string }).code, 'NO_ROOM')
    assert.deepEqual(await refused.ended, { code: 1011, reason: 'NO_ROOM' })
  })
})

describe('limits of sockets', () => {
  const echo = { path: '/a', handler: (client: { send(given: unknown): boolean }, given: unknown) => void client.send(given) }

  it('each is met from outside just below, and holds just above', async (t) => {
    const text = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2))
    const app = await socketApp(t, { maxMessageBytes: 1000, messagesPerSecond: 5, maxTopics: 2, perMessageDeflate: true }, ({ socket }) => {
      socket(echo)
      socket({ ...echo, path: '/small', maxMessageBytes: 10, messagesPerSecond: 1 })
      socket({ path: '/topics', handler: (client, topic) => void client.send((client.join(topic as string), 'joined')) })
    })
    const below = await app.open('/a')
    below.ws.send(text(1000))
    assert.equal(((await below.next()) as string).length, 998)
    below.ws.send(text(1001))
    assert.equal((await below.ended).code, 1009)
    // A small frame that becomes large.
    const packed = await app.open('/a', { perMessageDeflate: true })
    assert.match(packed.ws.extensions, /permessage-deflate/)
    packed.ws.send(text(100_000))
    assert.equal((await packed.ended).code, 1009)
    const small = await app.open('/small')
    small.ws.send(text(11))
    assert.equal((await small.ended).code, 1009)

    // A message in as many pieces as are accepted, and one that never ends.
    const pieces = await app.open('/a')
    pieces.ws.send('"', { fin: false })
    for (let i = 0; i < 126; i++) pieces.ws.send('x', { fin: false })
    pieces.ws.send('"')
    assert.equal(await pieces.next(), 'x'.repeat(126))
    const fragmented = await app.open('/a')
    for (let i = 0; i < 128; i++) fragmented.ws.send('x', { fin: false })
    fragmented.ws.send('x', { fin: false })
    assert.equal((await fragmented.ended).code, 1008)

    const binary = await app.open('/a')
    binary.ws.send(Buffer.from('{}'))
    assert.deepEqual(await binary.ended, { code: 1003, reason: 'SOCKET_BINARY' })
    const latin = await app.open('/a')
    latin.ws.send(Buffer.from([0xff, 0xfe]), { binary: false })
    assert.equal((await latin.ended).code, 1007)

    const topics = await app.open('/topics')
    const joined: unknown[] = []
    for (const topic of ['a', 'b', 'a', 'c', '']) {
      topics.send(topic)
      const answer = (await topics.next()) as { code?: string }
      joined.push(answer.code ?? answer)
    }
    assert.deepEqual(joined, ['joined', 'joined', 'joined', 'SOCKET_TOO_MANY_TOPICS', 'SOCKET_TOPIC_INVALID'])
  })

  it('messagesPerSecond ends a faster connection with 1008, after a message', async (t) => {
    const app = await socketApp(t, { messagesPerSecond: 20 }, ({ socket }) => socket(echo))
    const client = await app.open('/a')
    for (let i = 0; i < 20; i++) client.send(i)
    for (let i = 0; i < 20; i++) assert.equal(await client.next(), i)
    for (let i = 0; i < 500; i++) client.send(i)
    assert.deepEqual(await client.ended, { code: 1008, reason: 'SOCKET_TOO_FAST' })
    assert.equal((client.received.at(-1) as { code: string }).code, 'SOCKET_TOO_FAST')
  })

  it('maxConnections and maxPerClient refuse, and places are free again when a client has left', async (t) => {
    const app = await socketApp(t, { maxConnections: 3, maxPerClient: 2 }, ({ socket, middleware }) => {
      middleware({
        key: 'who',
        handler: (ctx, next) => {
          const context = requestContext()
          if (context && ctx.get('x-user') !== '') context.userId = ctx.get('x-user')
          return next()
        },
      })
      socket({ ...echo, use: ['who'] })
    })
    const as = (user: string) => app.open('/a', { headers: { 'x-user': user } })
    const first = await as('ada')
    await as('ada')
    const third = await refusal(as('ada'))
    assert.deepEqual([third.status, third.body.code], [429, 'TOO_MANY_SOCKETS'])
    await as('bob')
    const full = await refusal(as('cleo'))
    assert.deepEqual([full.status, full.body.code, full.headers['retry-after']], [503, 'SOCKETS_EXHAUSTED', '5'])
    first.ws.close()
    await first.ended
    await eventually('a place is free', async () => app.host.service(websocketService).size === 2)
    await app.open('/a')
    // A refused handshake holds no place.
    for (let i = 0; i < 5; i++) await refusal(app.open('/a', { headers: { origin: 'https://evil.example' } }))
    assert.equal(app.host.service(websocketService).size, 3)
  })

  it('maxBufferedBytes cuts a client that does not read, and memory stays bounded', async (t) => {
    let sent = 0
    let buffered = 0
    const app = await socketApp(t, { maxBufferedBytes: 100_000 }, ({ socket }) =>
      socket({
        path: '/a',
        handler: (client) => {
          const piece = 'x'.repeat(50_000)
          while (client.send(piece)) {
            sent++
            buffered = Math.max(buffered, client.bufferedBytes)
          }
        },
      }),
    )
    const client = await app.open('/a')
    client.ws.pause()
    client.send('go')
    await eventually('it was cut', async () => app.host.service(websocketService).size === 0)
    client.ws.resume()
    assert.equal((await client.ended).code, 1006)
    assert.ok(sent > 0 && buffered <= 160_000, `${sent} sent, ${buffered} buffered`)
  })

  it('drained waits until the client has read, so that a sender never exceeds the bound', async (t) => {
    const app = await socketApp(t, { maxBufferedBytes: 100_000 }, ({ socket }) =>
      socket({
        path: '/a',
        handler: async (client) => {
          for (let i = 0; i < 100; i++) {
            if (!client.send('x'.repeat(50_000))) return
            if (!(await client.drained())) return
          }
          client.send('done')
        },
      }),
    )
    const client = await app.open('/a')
    client.send('go')
    await eventually('all arrived', async () => client.received.at(-1) === 'done')
    assert.equal(client.received.length, 101)
  })

  it('handlerMs ends a connection whose handler hangs', async (t) => {
    const app = await socketApp(t, { handlerMs: 50 }, ({ socket }) => socket({ path: '/a', handler: () => new Promise(() => undefined) }))
    const client = await app.open('/a')
    client.send(1)
    assert.equal(((await client.next()) as { code: string }).code, 'SOCKET_HANDLER_LATE')
    assert.deepEqual(await client.ended, { code: 1011, reason: 'SOCKET_HANDLER_LATE' })
  })

  it('pingMs cuts a client that does not respond, and keeps one that does', async (t) => {
    const app = await socketApp(t, { pingMs: 100 }, ({ socket }) => socket(echo))
    const live = await app.open('/a')
    const dead = await app.open('/a', { autoPong: false })
    assert.equal((await dead.ended).code, 1006)
    await once(live.ws, 'ping')
    await once(live.ws, 'ping')
    live.send('here')
    assert.equal(await live.next(), 'here')
  })

  it('middleware itself can stand in `use`, as in routes', async (t) => {
    const guard = defineMiddleware({ key: 'guest', handler: (ctx, next) => (ctx.get('x-guest') === 'yes' ? next() : refuse(ctx, 'guest')) })
    const app = await socketApp(t, {}, ({ socket }) => socket({ ...echo, use: [guard] }))
    await assert.rejects(app.open('/a'), { status: 401 })
    await app.open('/a', { headers: { 'x-guest': 'yes' } })
  })

  it('a socket without a handler only sends: what a client sends ends its connection, and no other', async (t) => {
    const app = await socketApp(t, {}, ({ socket }) => {
      socket({ path: '/news', onOpen: (client) => client.join('news') })
      socket({ path: '/echo', handler: (client, message) => void client.send(message) })
    })
    const [reader, talker] = [await app.open('/news'), await app.open('/news')]
    await app.host.service(websocketService).publish('news', { text: 'one' })
    for (const client of [reader, talker]) assert.deepEqual(await client.next(), { text: 'one' })
    talker.send({ text: 'mine' })
    assert.equal(((await talker.next()) as { code: string }).code, 'SOCKET_SENDS_ONLY')
    assert.deepEqual(await talker.ended, { code: 1003, reason: 'SOCKET_SENDS_ONLY' })
    await app.host.service(websocketService).publish('news', { text: 'two' })
    assert.deepEqual(await reader.next(), { text: 'two' })
  })

  it('a connection ends with its access: when it is revoked, and when it expires', async (t) => {
    let holds = true
    const app = await socketApp(t, { pingMs: 100 }, ({ socket, middleware }) => {
      middleware({
        key: 'pass',
        handler: (ctx, next) => {
          noteAccess(ctx, () => ({ lastsMs: Number(ctx.get('x-lasts')), holds: async () => holds }))
          return next()
        },
      })
      socket({ ...echo, use: ['pass'] })
    })
    const expiring = await app.open('/a', { headers: { 'x-lasts': '50' } })
    assert.deepEqual(await expiring.ended, { code: 1008, reason: 'ACCESS_ENDED' })
    const revoked = await app.open('/a', { headers: { 'x-lasts': '60000' } })
    holds = false
    assert.deepEqual(await revoked.ended, { code: 1008, reason: 'ACCESS_ENDED' })
  })

  it('compression is not agreed on by default', async (t) => {
    const app = await socketApp(t, {}, ({ socket }) => socket(echo))
    const client = await app.open('/a', { perMessageDeflate: true })
    assert.equal(client.ws.extensions, '')
  })
})

describe('shutdown of sockets', () => {
  it('lets the running handler finish, closes with 1001, and refuses new connections', async (t) => {
    let finish: (() => void) | undefined
    const ends: unknown[] = []
    const app = await socketApp(t, {}, ({ socket, hooks }) => {
      socket({
        path: '/a',
        // Also then (uWebSockets.js 299), while the services of the plugin still work.
        onClose: (_client, end) => void ends.push(end),
        handler: async (client) => {
          await new Promise<void>((resolve) => {
            finish = resolve
          })
          client.send('finished')
        },
      })
      hooks.on('onClose', () => finish?.())
    })
    const idle = await app.open('/a')
    const busy = await app.open('/a')
    busy.send(1)
    await eventually('the handler runs', async () => finish !== undefined)
    const [report] = await Promise.all([app.host.stop(), idle.ended, busy.ended])
    assert.deepEqual(await idle.ended, { code: 1001, reason: 'SOCKETS_CLOSED' })
    assert.deepEqual(await busy.ended, { code: 1001, reason: 'SOCKETS_CLOSED' })
    assert.deepEqual(busy.received, ['finished'])
    assert.deepEqual([report.clean, report.forcedConnections], [true, 0])
    assert.deepEqual(ends, [
      { code: 1001, reason: 'SOCKETS_CLOSED' },
      { code: 1001, reason: 'SOCKETS_CLOSED' },
    ])
  })

  it('cuts clients that do not close, and handlers that hang, after drainMs', async (t) => {
    const app = await socketApp(t, { drainMs: 100 }, ({ socket }) => socket({ path: '/a', handler: () => new Promise(() => undefined) }))
    const deaf = await app.open('/a')
    deaf.ws.pause()
    const hanging = await app.open('/a')
    hanging.send(1)
    const report = await app.host.stop()
    deaf.ws.resume()
    assert.equal(report.clean, true)
    await Promise.all([deaf.ended, hanging.ended])
  })

  it('ends the connections of a plugin that is disabled, and only those', async (t) => {
    const app = await socketApp(t, {}, ({ socket }) => socket({ path: '/a', handler: () => undefined }))
    const client = await app.open('/a')
    await app.host.disable('chat')
    assert.equal((await client.ended).code, 1001)
    assert.equal((await refusal(app.open('/a'))).status, 404)
    await app.host.enable('chat')
    await app.open('/a')
  })
})

describe('topics', () => {
  it('reach those who joined, until they leave or end', async (t) => {
    const app = await socketApp(t, {}, ({ socket }) =>
      socket({
        path: '/rooms/:room',
        onOpen: (client) => void (client.join(client.params.room), client.send('in')),
        handler: (client) => void (client.leave(client.params.room), client.send('out')),
      }),
    )
    const sockets = app.host.service(websocketService)
    const [one, two, other] = [await app.open('/rooms/a'), await app.open('/rooms/a'), await app.open('/rooms/b')]
    for (const client of [one, two, other]) assert.equal(await client.next(), 'in')
    await sockets.publish('a', { n: 1 })
    assert.deepEqual([await one.next(), await two.next()], [{ n: 1 }, { n: 1 }])
    one.send(0)
    assert.equal(await one.next(), 'out')
    two.ws.close()
    await two.ended
    await sockets.publish('a', { n: 2 })
    await sockets.publish('b', { n: 3 })
    assert.deepEqual(await other.next(), { n: 3 })
    assert.deepEqual([one.received.length, two.received.length], [3, 2])
    for (const topic of ['', 'x'.repeat(201)]) await assert.rejects(sockets.publish(topic, 1), { code: 'SOCKET_TOPIC_INVALID' })
    await sockets.publish('x'.repeat(200), 1)
    await assert.rejects(sockets.publish('a', new Map([[1, 1]])), { code: 'UNSENDABLE_VALUE' })
  })

  it('pass messages of 262144 bytes on to other processes, and refuse larger ones, which reach nobody', async (t) => {
    const setup: Parameters<typeof socketApp>[2] = ({ socket }) =>
      socket({ path: '/a', onOpen: (client) => void (client.join('a'), client.send('in')), handler: () => undefined })
    const app = await socketApp(t, {}, setup, { plugins: [database(), kv(), cluster()] })
    const client = await app.open('/a')
    assert.equal(await client.next(), 'in')
    const sockets = app.host.service(websocketService)
    const large = 'x'.repeat(262_144 - 2)
    await sockets.publish('a', large)
    assert.equal(await client.next(), large)
    await assert.rejects(sockets.publish('a', `${large}x`), { code: 'SOCKET_PUBLISH_TOO_LARGE' })
    await sockets.publish('a', 'after it')
    assert.equal(await client.next(), 'after it')
  })
})
