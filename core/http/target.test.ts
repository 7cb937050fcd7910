import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathOf, queryOf, targetProblem } from './target.js'

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
