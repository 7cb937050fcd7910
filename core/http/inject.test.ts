import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeApp, route } from './test-support.js'

test('a request without a socket sends exactly the given data', async (t) => {
  const { app } = makeApp(t, [
    route({
      method: 'PUT',
      path: '/echo',
      bodyType: 'raw',
      bodyLimit: 5_000_000,
      handler: (ctx) => ({ headers: ctx.headers, ip: ctx.ip, length: ctx.input.body.length }),
    }),
  ])
  const { body } = await app.inject({
    method: 'PUT',
    path: '/echo',
    headers: { 'X-One': 'a', 'x-two': ['b', 'c'], gone: undefined },
    body: { a: 'ä' },
    remoteAddress: '10.0.0.7',
  })
  assert.deepEqual(
    [body.headers['x-one'], body.headers['x-two'], body.headers['content-type'], body.headers['content-length'], body.ip, body.length],
    ['a', 'b, c', 'application/json', '10', '10.0.0.7', 10],
  )
  assert.equal(body.headers.gone, undefined)
  assert.equal((await app.inject({ method: 'PUT', path: '/echo', body: Buffer.alloc(4_000_000) })).body.length, 4_000_000)
})

test('large responses arrive complete', async (t) => {
  const { app } = makeApp(t, [route({ method: 'GET', path: '/big', handler: () => 'x'.repeat(3_000_000) })])
  assert.equal((await app.inject({ path: '/big' })).text.length, 3_000_000)
})

test('a JSON response that cannot be parsed rejects the request', async (t) => {
  const { app } = makeApp(t, [
    route({
      method: 'GET',
      path: '/half',
      handler: (ctx) => {
        ctx.type = 'json'
        return '{"half":'
      },
    }),
  ])
  await assert.rejects(app.inject({ path: '/half' }), SyntaxError)
})

test('a connection that the app cuts rejects the request', async (t) => {
  const { app } = makeApp(t, [route({ method: 'GET', path: '/cut', handler: (ctx) => void ctx.res.destroy() })])
  await assert.rejects(app.inject({ path: '/cut' }), { code: 'ECONNRESET' })
})
