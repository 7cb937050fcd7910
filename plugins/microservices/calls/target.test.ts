import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { headersProblem, methodProblem, targetProblem } from './target.js'

const refused = [
  ...['', 'x', '//evil', '//evil/x', 'http://evil', 'https://evil/x', '/\\evil', '\\\\evil', '/..', '/../x', '/a/../b', '/.', '/a/./b'],
  ...[
    '/..%2f',
    '/%2e%2e/x',
    '/%2E%2E%2Fx',
    '/a%2f..%2fb',
    '/%252e%252e/x',
    '/%5c',
    '/%00',
    '/a%0d%0ab',
    '/a b',
    '/a\r\nb',
    '/a\tb',
    '/ä',
    '/%',
  ],
  ...['/%2f/evil', '/x#y', ' /x', '@evil/x', `/${'x'.repeat(9000)}`],
]
const accepted = ['/', '/users/7', '/users?x=../y&u=http://evil//', '/a%20b', '/100%25', '/a%2Fb', '/..x/x..', '/users/%E2%82%AC', '/a//b']

describe('the path of a call', () => {
  for (const path of refused) it(`is refused: ${JSON.stringify(path.slice(0, 40))}`, () => assert.notEqual(targetProblem(path), undefined))
  for (const path of accepted) it(`is accepted: ${path}`, () => assert.equal(targetProblem(path), undefined))
  it('is refused if it is not a string', () => assert.notEqual(targetProblem(undefined), undefined))
})

describe('method and headers of a call', () => {
  it('accepts the HTTP methods of services', () => {
    assert.equal(methodProblem('PATCH'), undefined)
    for (const method of ['get', 'CONNECT', 'TRACE', '', 'GET /x', undefined]) assert.notEqual(methodProblem(method), undefined)
  })

  it('refuses connection headers and malformed ones, and never repeats a value', () => {
    assert.equal(headersProblem({ 'X-Tenant': 'a', accept: '*/*' }), undefined)
    for (const headers of [
      { Host: 'evil' },
      { 'transfer-encoding': 'chunked' },
      { 'x-timeout-ms': '1' },
      { 'a b': 'x' },
      { a: 'hidden\r\nb: c' },
      { a: 1 },
    ]) {
      const problem = headersProblem(headers)
      assert.ok(problem !== undefined && !problem.includes('hidden'), JSON.stringify(headers))
    }
  })
})
