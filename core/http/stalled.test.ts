import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen, makeApp, RawClient, route } from './test-support.js'

test('a client that reads nothing of its response for a minute is disconnected; slow, idle and waiting ones are not', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  const aMinutePasses = (): void => {
    now += 60_000
    t.mock.timers.tick(5000)
  }
  const closed = new Set<unknown>()
  const large = route({
    method: 'GET',
    path: '/large/:reader',
    handler: (ctx) => {
      ctx.res.once('close', () => void closed.add(ctx.input.params.reader))
      return Buffer.alloc(64 * 1024 * 1024)
    },
  })
  let enter = (): void => undefined
  let open = (): void => undefined
  const entered = new Promise<void>((resolve) => void (enter = resolve))
  const opened = new Promise<void>((resolve) => void (open = resolve))
  const hello = route({ method: 'GET', path: '/hello', handler: () => ({ hello: true }) })
  const slow = route({ method: 'GET', path: '/slow', handler: async () => (enter(), await opened, { slow: true }) })
  const { app } = makeApp(t, [large, hello, slow], { clock: { now: () => now, monotonic: () => now } })
  const port = await listen(app)
  const [idle, waiting] = [await RawClient.open(port), await RawClient.open(port)]
  const head = ' HTTP/1.1\r\nHost: localhost\r\n\r\n'
  idle.send(`GET /hello${head}`)
  waiting.send(`GET /slow${head}`)
  await Promise.all([idle.until(/"hello":true\}/), entered])

  // More than the system buffers for a connection, so that there is progress in each minute.
  const step = 16 * 1024 * 1024
  let read = 0
  const steady = await fetch(`http://127.0.0.1:${port}/large/steady`)
  for await (const chunk of steady.body as AsyncIterable<Uint8Array>) {
    if (Math.floor((read + chunk.length) / step) > Math.floor(read / step)) aMinutePasses()
    read += chunk.length
  }
  assert.equal(read, 64 * 1024 * 1024)

  const stalled = await RawClient.open(port)
  stalled.socket.pause()
  stalled.send(`GET /large/stalled${head}`)
  for (let turns = 0; turns < 10_000 && !closed.has('stalled'); turns++) {
    aMinutePasses()
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(closed.has('stalled'))
  stalled.socket.destroy()

  open()
  idle.text = ''
  idle.send(`GET /hello${head}`)
  await Promise.all([idle.until(/"hello":true\}/), waiting.until(/"slow":true\}/)])
})
