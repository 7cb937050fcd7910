import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import fc from '../../scripts/testing/properties.js'
import { makeApp, route } from './test-support.js'

const User = Type.Object({ id: Type.Integer(), name: Type.String(), tags: Type.Optional(Type.Array(Type.String())) })
const read = { method: 'GET', path: '/user', serialize: 'schema' } as const

test('a field that the schema does not name is left out, whoever set it', async (t) => {
  const { app } = makeApp(t, [route({ ...read, response: { 200: User }, handler: () => ({ id: 1, name: 'ada', password: 'x' }) as never })])
  assert.deepEqual((await app.inject({ path: '/user' })).body, { id: 1, name: 'ada' })
  app.addGlobal('test', async (ctx, next) => {
    await next()
    ctx.body = { ...(ctx.body as object), secret: 'y', tags: ['b'] }
  })
  app.compile()
  const response = await app.inject({ path: '/user' })
  assert.deepEqual(response.body, { id: 1, name: 'ada', tags: ['b'] })
  assert.equal(response.headers['content-length'], String(response.bytes.length))
})

test('without the option, and for a status without a schema, everything is sent', async (t) => {
  const all = { id: 1, name: 'ada', more: true }
  const { app } = makeApp(t, [
    route({ method: 'GET', path: '/all', response: { 200: User }, handler: () => all as never }),
    route({
      ...read,
      response: { 200: User },
      handler: (ctx) => {
        ctx.status = 202
        return all as never
      },
    }),
  ])
  assert.deepEqual((await app.inject({ path: '/all' })).body, all)
  assert.deepEqual((await app.inject({ path: '/user' })).body, all)
})

test('errors keep their body, also if their status has a schema', async (t) => {
  const handler = (): never => {
    throw Object.assign(new Error('none'), { status: 404, expose: true })
  }
  const { app } = makeApp(t, [route({ ...read, response: { 200: User, 404: Type.Object({ missing: Type.String() }) }, handler })])
  assert.deepEqual(Object.keys((await app.inject({ path: '/user' })).body), ['error', 'message', 'code'])
})

test('a value that cannot be written by its schema is a 500 in JSON', async (t) => {
  const { app, failures } = makeApp(t, [route({ ...read, response: { 200: User }, handler: () => ({ id: 'many', name: 'ada' }) as never })])
  const response = await app.inject({ path: '/user' })
  assert.equal(response.status, 500)
  assert.equal(response.body.code, 'INTERNAL_ERROR')
  assert.equal(failures.length, 1)
})

test('a route without a schema to write by is refused at the boot', (t) => {
  const { app } = makeApp(t)
  app.addRoute('test', route({ ...read, handler: () => ({}) }))
  assert.throws(() => app.compile(), { code: 'ZIN_ROUTES_INVALID', message: /serialize: "schema" needs a schema in response/ })
})

test('what fits its schema is written as JSON.stringify writes it', async (t) => {
  let value: unknown
  const { app } = makeApp(t, [route({ ...read, response: { 200: User }, handler: () => value as never })])
  const user = fc.record(
    { id: fc.maxSafeInteger(), name: fc.string({ unit: 'binary' }), tags: fc.array(fc.string()) },
    { requiredKeys: ['id', 'name'] },
  )
  await fc.assert(
    fc.asyncProperty(user, async (given) => {
      value = given
      assert.equal((await app.inject({ path: '/user' })).text, JSON.stringify(given))
    }),
  )
})
