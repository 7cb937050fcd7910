import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import type { ZinError } from '../errors.js'
import { makeApp, route } from './test-support.js'

const hello = route({ method: 'GET', path: '/hello', handler: () => ({ hello: true }) })

function refusal(compile: () => void): ZinError {
  try {
    compile()
  } catch (error) {
    return error as ZinError
  }
  throw new assert.AssertionError({ message: 'compile accepted the table' })
}

test('every problem of a route table is listed in one error, and the old table stays in use', async (t) => {
  const { app } = makeApp(t, [hello])
  app.addMiddleware('jwt', { key: 'auth', handler: (_ctx, next) => next() })
  app.addRoute('a', route({ method: 'GET', path: '/api/jobs/:id', handler: () => 1 }))
  app.addRoute('b', route({ method: 'GET', path: '/api/jobs/:name', handler: () => 2 }))
  app.addRoute('c', route({ method: 'GET', path: '/me', use: ['auht'], handler: () => 3 }))
  app.addRoute('d', route({ method: 'GET', path: 'nowhere/', handler: () => 4 }))
  app.addRoute('e', route({ method: 'POST', path: '/e', body: { type: 'objekt' }, handler: () => 5 }))
  app.addRoute('f', route({ method: 'GET', path: '/f', query: Type.Object({ a: Type.String({ formt: 'email' }) }), handler: () => 6 }))
  app.addRoute('g', route({ method: 'GET', path: '/g/:x', probe: true, handler: () => 7 }))
  app.addRoute('h', route({ method: 'GET', path: '/h', response: { 200: { type: 'string', pattern: '(' } }, handler: () => 8 }))
  app.addRoute('i', route({ method: 'GET', path: '/i', response: { 200: { $ref: '#/$defs/missing' } }, handler: () => 9 }))
  const error = refusal(() => app.compile())
  assert.equal(error.code, 'ZIN_ROUTES_INVALID')
  const problems = error.details as { plugins: string[]; path: string; problem: string }[]
  assert.deepEqual(
    problems.map((problem) => problem.plugins[0]),
    ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'],
  )
  assert.deepEqual(problems[0]?.plugins, ['b', 'a'])
  for (const expected of [
    /"a" already registered GET \/api\/jobs\/:id/,
    /"auht"; did you mean "auth"\?/,
    /must begin with "\/"/,
    /unknown keyword "formt"/,
    /pattern must be a regular expression, not "\("/,
    /refers to #\/\$defs\/missing/,
    /^8 problems/,
  ]) {
    assert.match(error.message, expected)
  }
  assert.equal((await app.inject({ path: '/hello' })).status, 200)
  assert.equal((await app.inject({ path: '/me' })).status, 404)
})

test('the same path with two methods is not a conflict', (t) => {
  const { app } = makeApp(t, [hello, { ...hello, method: 'POST' }])
  assert.deepEqual(
    app.routes().map(({ method, path }) => `${method} ${path}`),
    ['GET /hello', 'POST /hello'],
  )
})

test('registrations and their removal take effect with the next compile', async (t) => {
  const { app } = makeApp(t)
  const remove = app.addRoute('late', hello)
  assert.equal((await app.inject({ path: '/hello' })).status, 404)
  app.compile()
  assert.equal((await app.inject({ path: '/hello' })).status, 200)
  remove()
  remove()
  assert.equal((await app.inject({ path: '/hello' })).status, 200)
  app.compile()
  assert.equal((await app.inject({ path: '/hello' })).status, 404)
})

test('requests in flight finish on the table they started with', async (t) => {
  const { app } = makeApp(t)
  let enter: () => void = () => undefined
  let release: () => void = () => undefined
  const entered = new Promise<void>((resolve) => void (enter = resolve))
  const released = new Promise<void>((resolve) => void (release = resolve))
  app.addGlobal('slow', async (_ctx, next) => {
    enter()
    await released
    await next()
  })
  const remove = app.addRoute('late', hello)
  app.compile()
  const response = app.inject({ path: '/hello' })
  await entered
  remove()
  app.compile()
  release()
  assert.equal((await response).status, 200)
  assert.equal((await app.inject({ path: '/hello' })).status, 404)
})

test('a middleware key has one owner, and is free again when the owner removes it', (t) => {
  const { app } = makeApp(t)
  const remove = app.addMiddleware('jwt', { key: 'auth', handler: (_ctx, next) => next() })
  assert.throws(
    () => app.addMiddleware('other', { key: 'auth', handler: (_ctx, next) => next() }),
    (error: ZinError) => {
      assert.equal(error.code, 'ZIN_MIDDLEWARE_TAKEN')
      assert.match(error.message, /"other".*"auth".*"jwt"/)
      return true
    },
  )
  remove()
  app.addMiddleware('other', { key: 'auth', handler: (_ctx, next) => next() })
})

test('a middleware that routes use cannot be removed', (t) => {
  const { app } = makeApp(t)
  const remove = app.addMiddleware('jwt', { key: 'auth', handler: (_ctx, next) => next() })
  app.addRoute('a', { ...hello, use: ['auth'] })
  app.compile()
  remove()
  assert.throws(() => app.compile(), { code: 'ZIN_ROUTES_INVALID' })
})
