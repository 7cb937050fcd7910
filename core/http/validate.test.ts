import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { ZinError } from '../errors.js'
import { makeApp, route } from './test-support.js'

const worker = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z]+$' }),
    concurrency: Type.Integer({ default: 5, minimum: 1 }),
    mode: Type.Optional(Type.Enum(['a', 'b'])),
  },
  { additionalProperties: false },
)
const echo = route({ method: 'POST', path: '/echo', body: worker, handler: ({ input }) => input.body })

test('a valid body is passed to the handler with defaults', async (t) => {
  const { app } = makeApp(t, [echo])
  const response = await app.inject({ method: 'POST', path: '/echo', body: { name: 'emails' } })
  assert.equal(response.status, 200)
  assert.deepEqual(response.body, { name: 'emails', concurrency: 5 })
})

test('an invalid body is refused with every problem by field', async (t) => {
  const { app } = makeApp(t, [echo])
  const response = await app.inject({ method: 'POST', path: '/echo', body: { name: 7, concurrency: '5', extra: true } })
  assert.equal(response.status, 400)
  assert.equal(response.body.error, 'Validation failed')
  assert.equal(response.body.code, 'VALIDATION_FAILED')
  assert.equal(response.body.message, `${response.body.details[0].field} ${response.body.details[0].message}`)
  assert.deepEqual(response.body.details.map((entry: { field: string; code: string }) => [entry.field, entry.code]).sort(), [
    ['body.concurrency', 'TYPE'],
    ['body.extra', 'ADDITIONAL_PROPERTIES'],
    ['body.name', 'TYPE'],
  ])
})

test('the message for a wrong type names the field and the type', async (t) => {
  const { app } = makeApp(t, [echo])
  assert.equal((await app.inject({ method: 'POST', path: '/echo', body: { name: 7 } })).body.message, 'body.name must be string')
  assert.equal((await app.inject({ method: 'POST', path: '/echo' })).body.message, 'body.name is required')
  assert.equal((await app.inject({ method: 'POST', path: '/echo', body: [] })).body.message, 'body must be object')
})

test('params and query are converted to scalars, bodies are not', async (t) => {
  const get = route({
    method: 'GET',
    path: '/items/:id',
    params: Type.Object({ id: Type.Integer() }),
    query: Type.Object({
      limit: Type.Integer({ default: 20 }),
      all: Type.Boolean({ default: false }),
      tag: Type.Optional(Type.Array(Type.String())),
    }),
    handler: ({ input }) => ({ ...input.params, ...input.query }),
  })
  const { app } = makeApp(t, [get])
  assert.deepEqual((await app.inject({ path: '/items/7?limit=3&all=true' })).body, { id: 7, limit: 3, all: true })
  assert.deepEqual((await app.inject({ path: '/items/7?tag=a&tag=b' })).body, { id: 7, limit: 20, all: false, tag: ['a', 'b'] })
  assert.equal((await app.inject({ path: '/items/x' })).body.message, 'params.id must be integer')
  assert.equal((await app.inject({ path: '/items/7?limit=1&limit=2' })).body.message, 'query.limit must be integer')
})

test('a single query value is accepted as a list', async (t) => {
  const query = {
    type: 'object',
    properties: { tag: { type: 'array', items: { type: 'string' } }, id: { type: 'array', items: { type: 'integer' } } },
  }
  const { app } = makeApp(t, [route({ method: 'GET', path: '/items', query, handler: ({ input }) => input.query })])
  assert.deepEqual((await app.inject({ path: '/items?tag=a&id=7' })).body, { tag: ['a'], id: [7] })
  assert.deepEqual((await app.inject({ path: '/items?tag=a&tag=b&id=1&id=2' })).body, { tag: ['a', 'b'], id: [1, 2] })
  assert.equal((await app.inject({ path: '/items?id=x' })).body.message, 'query.id[0] must be integer')
})

test('an unknown field is named, and a value outside a list is reported with the list and its nearest entry', async (t) => {
  const query = Type.Object(
    { status: Type.Optional(Type.Union([Type.Literal('active'), Type.Literal('inactive')])) },
    { additionalProperties: false },
  )
  const { app } = makeApp(t, [echo, route({ method: 'GET', path: '/items', query, handler: () => ({}) })])
  const first = async (path: string, body?: object) =>
    (await app.inject({ method: body === undefined ? 'GET' : 'POST', path, body })).body.details.map(
      ({ message, ...rest }: { field: string; message: string; code: string }) => [rest.field, message, rest.code],
    )
  assert.deepEqual(await first('/items?status=inactiv'), [
    ['query.status', 'must be one of active, inactive; did you mean "inactive"?', 'ENUM'],
  ])
  assert.deepEqual(await first('/items?status=x'), [['query.status', 'must be one of active, inactive', 'ENUM']])
  assert.deepEqual(await first('/items?statsu=active'), [
    ['query.statsu', 'is not a known field; did you mean "status"?', 'ADDITIONAL_PROPERTIES'],
  ])
  assert.deepEqual(await first('/echo', { name: 'a', mode: 'c' }), [['body.mode', 'must be one of a, b', 'ENUM']])
})

test('formats are checked, and elements of lists are named', async (t) => {
  const { app } = makeApp(t, [
    route({ method: 'POST', path: '/mail', body: Type.Object({ to: Type.Array(Type.String({ format: 'email' })) }), handler: () => ({}) }),
  ])
  const response = await app.inject({ method: 'POST', path: '/mail', body: { to: ['a@b.example', 'nonsense'] } })
  assert.equal(response.body.details[0].field, 'body.to[1]')
  assert.equal((await app.inject({ method: 'POST', path: '/mail', body: { to: ['a@b.example'] } })).status, 200)
})

test('a large list of faults is reported as one problem, not a million', async (t) => {
  const { app } = makeApp(t, [
    route({ method: 'POST', path: '/list', bodyLimit: 2_000_000, body: Type.Array(Type.String()), handler: () => ({}) }),
  ])
  const response = await app.inject({ method: 'POST', path: '/list', body: Array.from({ length: 200_000 }, () => 1) })
  assert.equal(response.status, 400)
  assert.equal(response.body.details.length, 1)
  const short = await app.inject({ method: 'POST', path: '/list', body: Array.from({ length: 500 }, () => 1) })
  assert.equal(short.body.details.length, 20)
})

test('a route may return its own error for invalid input', async (t) => {
  const { app } = makeApp(t, [
    {
      ...echo,
      onInvalid: (problems) =>
        new ZinError('INVALID_WORKER_NAME', problems.map(({ part, field, keyword }) => `${part} ${field} ${keyword}`).join(), {
          status: 400,
        }),
    },
  ])
  const response = await app.inject({ method: 'POST', path: '/echo', body: { name: 'NO' } })
  assert.equal(response.body.code, 'INVALID_WORKER_NAME')
  assert.equal(response.body.message, 'body name pattern')
})

test('outside of production a response that does not match its schema is logged and sent unchanged', async (t) => {
  const spec = route({
    method: 'GET',
    path: '/x',
    response: { 200: Type.Object({ id: Type.Integer(), at: Type.Optional(Type.String()) }) },
    handler: () => ({ id: 'seven' }),
  })
  const development = makeApp(t, [spec])
  assert.deepEqual((await development.app.inject({ path: '/x' })).body, { id: 'seven' })
  const [line] = development.log.lines
  assert.equal(line?.level, 'warn')
  assert.deepEqual(line?.problems, ['id must be integer'])
  const production = makeApp(t, [spec], { production: true })
  assert.deepEqual((await production.app.inject({ path: '/x' })).body, { id: 'seven' })
  assert.deepEqual(production.log.lines, [])
})

test('a response is checked as serialized', async (t) => {
  const { app, log } = makeApp(t, [
    route({
      method: 'GET',
      path: '/x',
      response: { 200: Type.Object({ at: Type.String({ format: 'date-time' }) }, { additionalProperties: false }) },
      handler: () => ({ at: new Date(0), left: undefined }),
    }),
  ])
  assert.deepEqual((await app.inject({ path: '/x' })).body, { at: '1970-01-01T00:00:00.000Z' })
  assert.deepEqual(log.lines, [])
})

test('a number that stands for another one is refused in path, query, body and lists', async (t) => {
  const numbers = Type.Object({
    id: Type.Optional(Type.Integer()),
    ratio: Type.Optional(Type.Number()),
    either: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    list: Type.Optional(Type.Array(Type.Integer())),
    default: Type.Optional(Type.Integer()),
  })
  const reached: unknown[] = []
  const { app } = makeApp(t, [
    route({
      method: 'GET',
      path: '/n/:id',
      params: Type.Object({ id: Type.Integer() }),
      handler: ({ input }) => reached.push(input.params.id),
    }),
    route({ method: 'GET', path: '/q', query: numbers, handler: ({ input }) => reached.push(input.query) }),
    route({ method: 'POST', path: '/b', body: numbers, handler: ({ input }) => reached.push(input.body) }),
  ])
  const json = (body: string) => app.inject({ method: 'POST', path: '/b', headers: { 'content-type': 'application/json' }, body })
  for (const value of ['9007199254740992', '-9007199254740993', '1e999', '-1e999', '12345678901234567890', '1e300']) {
    const sent = [
      app.inject({ path: `/n/${value}` }),
      ...['id', 'ratio', 'list', 'default'].map((name) => app.inject({ path: `/q?${name}=${value}` })),
    ]
    const bodies = [`{"id":${value}}`, `{"ratio":${value}}`, `{"either":${value}}`, `{"list":[1,${value}]}`, `{"default":${value}}`]
    for (const response of await Promise.all([...sent, ...bodies.map(json)])) {
      assert.deepEqual([response.status, response.body.code], [400, 'VALIDATION_FAILED'], `${value}: ${response.text}`)
    }
  }
  for (const word of ['Infinity', '-Infinity', 'NaN']) assert.equal((await app.inject({ path: `/q?ratio=${word}` })).status, 400, word)
  assert.deepEqual(reached, [])
  assert.equal((await app.inject({ path: '/n/9007199254740991' })).status, 200)
  assert.equal((await json('{"ratio":1.5e10,"id":-9007199254740991,"either":null}')).status, 200)
  assert.equal((await json('{"ratio":0.1}')).status, 200)
})
