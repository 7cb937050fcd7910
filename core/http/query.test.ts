import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from './query.js'

test('a query is parsed as text, and repeated names give a list', () => {
  assert.deepEqual(parseQuery('a=1&b=x+y%20z&a=2&c&a=3'), { a: ['1', '2', '3'], b: 'x y z', c: '' })
  assert.deepEqual(parseQuery(''), {})
})

test('names of object internals are harmless', () => {
  const query = parseQuery('__proto__=x&constructor=y&toString=z&toString=w')
  assert.equal(Object.getPrototypeOf(query), Object.prototype)
  assert.deepEqual(Object.entries(query), [
    ['constructor', 'y'],
    ['toString', ['z', 'w']],
  ])
})
