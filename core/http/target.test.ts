import assert from 'node:assert/strict'
import { test } from 'node:test'
import { originForm, pathOf, queryOf, targetProblem } from './target.js'

test('ordinary targets are accepted', () => {
  const targets = [
    '/',
    '/health/live',
    '/api/workers/a-b_c.d~e',
    '/a?b=c&d',
    '/a?',
    '/a%20b',
    '/a//b',
    '/a.b/c..d',
    '/a/%2F',
    "/a!$&'()*+,;=:@",
    '/a?x=../..',
    '/a?x=C:\\b',
    '/?\\',
  ]
  for (const target of targets) assert.equal(targetProblem(target), undefined, target)
})

test('targets that a URL parser would change are refused', () => {
  const targets = [
    '',
    '*',
    'a',
    'http://host/a',
    'host:80',
    '//host/a',
    '/a\\b',
    '\\a',
    '/a#b',
    '/a b',
    '/a\tb',
    '/a\x00',
    '/a\x7f',
    '/ä',
    '/a?ä',
    '/\\',
    '/\\evil/a',
    '/a\\b?c',
    '/a?b#c',
    '/.',
    '/..',
    '/a/./b',
    '/a/../b',
    '/a/..',
    '/a/%2e%2E/b',
    '/%2e',
    '/a/.%2e',
    '/a"b',
    '/a<b',
    '/a>b',
    '/a`b',
    '/a{b}',
  ]
  for (const target of targets) assert.notEqual(targetProblem(target), undefined, JSON.stringify(target))
})

test('a segment that begins with a dot but is not a dot segment is accepted', () => {
  assert.equal(targetProblem('/.well-known/x'), undefined)
  assert.equal(targetProblem('/...'), undefined)
})

test('the first question mark separates path and query', () => {
  assert.equal(pathOf('/a?b?c'), '/a')
  assert.equal(queryOf('/a?b?c'), 'b?c')
  assert.equal(pathOf('/a'), '/a')
  assert.equal(queryOf('/a'), '')
})

test('a target in absolute form becomes one in origin form if it names the host of the Host header', () => {
  const converted = [
    ['http://app.test/a?b', '/a?b'],
    ['HTTP://APP.test', '/'],
    ['https://app.test?x=1', '/?x=1'],
    ['http://app.test//a', '//a'],
  ] as const
  for (const [target, origin] of converted) assert.equal(originForm(target, 'app.test'), origin)
  for (const target of ['http://evil.test/a', 'http://app.test:80/a', 'http://user@app.test/a', 'ftp://app.test/', 'app.test:443', '*']) {
    assert.equal(originForm(target, 'app.test'), target)
  }
  assert.equal(originForm('http://app.test/a', undefined), 'http://app.test/a')
})
