import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultPosition, parseJson } from './json.js'

const parse = (text: string): unknown => parseJson(Buffer.from(text))

test('valid JSON is parsed unchanged', () => {
  for (const text of ['{}', '[]', '1', 'null', '"a"', ' {"a":[1,2.5e3,{"b":null}],"ü":"\\u00e4"} '])
    assert.deepEqual(parse(text), JSON.parse(text), text)
})

test('an error contains the position and never the text', () => {
  const faults: [string, number][] = [
    ['{"secret":}', 10],
    ['{"a":1,}', 7],
    ['[1,]', 3],
    ['[1 2]', 3],
    ['{a:1}', 1],
    ["{'a':1}", 1],
    ['tru', 0],
    ['{"a":1} x', 8],
    ['[01]', 2],
    ['{"a" 1}', 5],
    ['["a\nb"]', 1],
    [']', 0],
    ['{"a":[1}', 7],
    ['{"a":"\\x"}', 5],
    ['nan', 0],
    ['[1,,2]', 3],
  ]
  for (const [text, position] of faults) {
    assert.equal(faultPosition(text), position, text)
    assert.throws(
      () => parse(text),
      (error: Error) => {
        assert.match(error.message, new RegExp(`position ${position}$`))
        assert.ok(!error.message.includes('secret'))
        return true
      },
    )
  }
  for (const text of ['{"a":', '[1,', '{', '{"a"', '[[1]']) assert.throws(() => parse(text), /it ends too early/, text)
})

test('an error in a long text is located, too', () => {
  const text = `[${'{"name":"value"},'.repeat(500)}x]`
  assert.throws(() => parse(text), new RegExp(`position ${text.length - 2}$`))
})

test('a byte order mark is refused', () => {
  assert.throws(() => parseJson(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{}')])), { code: 'INVALID_JSON', status: 400 })
})

test('keys named __proto__ are dropped, however they are escaped', () => {
  for (const text of [
    '{"a":1,"__proto__":{"admin":true}}',
    '{"a":1,"\\u005f_proto__":{"admin":true}}',
    '{"a":1,"_\\u005Fproto_\\u005f":{"admin":true}}',
  ]) {
    const value = parse(text) as Record<string, unknown>
    assert.deepEqual(Object.getOwnPropertyNames(value), ['a'], text)
    assert.equal(Object.assign({}, value).admin, undefined)
  }
})

test('nesting is bounded, and brackets in strings do not count', () => {
  assert.throws(() => parse('['.repeat(100_000)), { code: 'INVALID_JSON' })
  assert.throws(() => parse(`${'['.repeat(501)}${']'.repeat(501)}`), { code: 'INVALID_JSON' })
  assert.doesNotThrow(() => parse(`${'['.repeat(500)}${']'.repeat(500)}`))
  assert.doesNotThrow(() => parse(JSON.stringify({ a: '\\"['.repeat(1000) })))
})

test('lone surrogates are refused in values and keys, and pairs are not', () => {
  const refused = [
    '"\\ud800"',
    '"\\udc00"',
    '"\\uDBFFx\\uDC00"',
    '{"\\ud800":1}',
    '["a",{"b":"\\\\\\ud800"}]',
    '"\\udc00\\ud800"',
    '"\\ud83d\\ud83d\\ude00"',
    '"\\ud800\\n"',
  ]
  for (const text of refused) assert.throws(() => parse(text), { code: 'INVALID_JSON', status: 400 }, text)
  const accepted = ['"\\ud83d\\ude00"', '"\\uD83D\\uDE00\\ud83d\\ude00"', '"\\\\ud800"', '"\\\\\\\\udc00"', '"😀"', '"\\u00e4"']
  for (const text of accepted) assert.equal(parse(text), JSON.parse(text), text)
})
