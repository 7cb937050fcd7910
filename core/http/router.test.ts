import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Layer, Router } from '@koa/router'
import fc from '../../scripts/testing/properties.js'
import type { HttpMethod } from './route.js'
import { pathProblem, RouteTable, shapeOf } from './router.js'

const paths = [
  '/',
  '/api/jobs/active',
  '/api/jobs/:id',
  '/api/jobs/:id/retry',
  '/api/jobs/:id.json',
  '/api/:kind/active',
  '/api/*rest',
  '/:a/:b',
  '/svc/:name/*path',
  '/console/*file',
]

function table(order: readonly string[], method: HttpMethod = 'GET'): RouteTable<string> {
  return new RouteTable(order.map((path) => ({ method, path, value: path })))
}

const cases: readonly (readonly [path: string, found: string | undefined, params?: Record<string, string>])[] = [
  ['/', '/'],
  ['/api/jobs/active', '/api/jobs/active'],
  ['/api/jobs/7', '/api/jobs/:id', { id: '7' }],
  ['/api/jobs/7.json', '/api/jobs/:id.json', { id: '7' }],
  ['/api/jobs/7/retry', '/api/jobs/:id/retry', { id: '7' }],
  ['/api/queues/active', '/api/:kind/active', { kind: 'queues' }],
  ['/api/queues/other', '/api/*rest', { rest: 'queues/other' }],
  ['/api/jobs/7/other', '/api/*rest', { rest: 'jobs/7/other' }],
  ['/x/y', '/:a/:b', { a: 'x', b: 'y' }],
  ['/svc/mail/a/b', '/svc/:name/*path', { name: 'mail', path: 'a/b' }],
  ['/svc/mail', '/:a/:b', { a: 'svc', b: 'mail' }],
  ['/console/app.js', '/console/*file', { file: 'app.js' }],
  ['/api/jobs/a%20b%2Fc', '/api/jobs/:id', { id: 'a b/c' }],
  ['/x', undefined],
  ['/x/y/z', undefined],
  ['/x/y/', undefined],
]

test('the most specific route wins, regardless of the order of registration', () => {
  const sorted = [...paths].sort()
  for (const order of [paths, [...paths].reverse(), sorted, [...sorted].reverse()]) {
    for (const [path, found, params] of cases) {
      const match = table(order).find('GET', path)
      assert.equal(match?.value, found, path)
      if (params) assert.deepEqual(match?.params, params)
    }
  }
})

test('matching is strict and case-sensitive', () => {
  const routes = table(paths)
  for (const path of ['/API/jobs/active', '/api/jobs/active/x/', '/console', '/console/']) {
    assert.ok(!['/api/jobs/active', '/console/*file'].includes(routes.find('GET', path)?.value ?? ''), path)
  }
  assert.equal(table(['/a/:b']).find('GET', '/a/b/'), undefined)
  assert.equal(table(['/a/:b']).find('GET', '/A/b'), undefined)
  assert.equal(table(['/a']).find('GET', '/a/'), undefined)
})

test('a static path of another method does not hide a parameter route', () => {
  const routes = new RouteTable([
    { method: 'POST', path: '/api/workers/create', value: 'create' },
    { method: 'GET', path: '/api/workers/:name', value: 'one' },
  ])
  assert.equal(routes.find('GET', '/api/workers/create')?.value, 'one')
  assert.equal(routes.find('POST', '/api/workers/create')?.value, 'create')
  assert.deepEqual(routes.allowed('/api/workers/create'), ['GET', 'HEAD', 'OPTIONS', 'POST'])
  assert.deepEqual(routes.allowed('/api/nothing'), [])
})

test('a malformed percent-encoding in a parameter is a bad target', () => {
  for (const path of ['/a/%', '/a/%zz', '/a/%ff'])
    assert.throws(() => table(['/a/:b']).find('GET', path), { code: 'BAD_REQUEST_TARGET', status: 400 }, path)
})

test('invalid route paths are reported', () => {
  for (const path of ['/', '/a', '/a/:b', '/a/:b/c', '/a/*b', '/v:version', '/:name.json', '/.well-known/x'])
    assert.equal(pathProblem(path), undefined, path)
  for (const path of [
    '',
    'a',
    '/a/',
    '//a',
    '/a//b',
    '/a/../b',
    '/./a',
    '/a/:',
    '/a/*b/c',
    '/:a/:a',
    '/a b',
    '/a?b',
    '/ä',
    '/{a}',
    '/(.*)',
    '/a/:b-:c',
  ]) {
    assert.notEqual(pathProblem(path), undefined, path)
  }
})

test('routes that differ only in parameter names have the same shape', () => {
  assert.equal(shapeOf('/a/:b/c/*d'), shapeOf('/a/:x/c/*y'))
  assert.notEqual(shapeOf('/a/:b'), shapeOf('/a/*b'))
})

const segment = fc.oneof(
  fc.constantFrom('a', 'b', 'a.json', 'A', '%61', 'a%2Fb', '', '..', 'a b', 'é', '%', 'x\ny'),
  fc.string({ maxLength: 6 }),
)
const routeSegment = fc.constantFrom('a', 'b', 'a.json', ':id', ':other', ':file.json', 'v:major')

test('each path means what @koa/router says', () => {
  const route = fc
    .tuple(fc.array(routeSegment, { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([segments, open]) => `/${[...segments, ...(open ? ['*rest'] : [])].join('/')}`)
    .filter((path) => pathProblem(path) === undefined)
  fc.assert(
    fc.property(route, fc.array(segment, { maxLength: 5 }), (path, segments) => {
      const target = `/${segments.join('/')}`
      const router = new Router({ strict: true, sensitive: true })
      const layer = router.register(path, ['GET'], () => undefined) as Layer
      const wanted = layer.match(target)
      const table = new RouteTable([{ method: 'GET', path, value: path }])
      assert.deepEqual(table.allowed(target), wanted ? ['GET', 'HEAD', 'OPTIONS'] : [])
      if (!wanted || !isDecodable(target)) return
      assert.deepEqual(table.find('GET', target)?.params, layer.params(target, layer.captures(target)))
    }),
  )
})

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
