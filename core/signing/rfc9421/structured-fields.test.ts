import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDictionary } from './structured-fields.js'

describe('structured fields', () => {
  it('are parsed with every kind of item and parameter', () => {
    const parsed = parseDictionary('  a=1, b=-2.5;x;y=?0,\tc="q\\"\\\\",d=tok/en:*;k=*t ,e=:AQI=:, f, g=("x" :AA==:;p=1  y );q="z", h=() ')
    const of = (key: string) => parsed?.get(key)
    assert.deepEqual([...(parsed?.keys() ?? [])].join(''), 'abcdefgh')
    const none = new Map()
    assert.deepEqual(of('a'), { kind: 'item', value: { type: 'integer', value: 1 }, params: none })
    assert.deepEqual(of('b'), {
      kind: 'item',
      value: { type: 'decimal', value: -2.5 },
      params: new Map([
        ['x', { type: 'boolean', value: true }],
        ['y', { type: 'boolean', value: false }],
      ]),
    })
    assert.deepEqual(of('c'), { kind: 'item', value: { type: 'string', value: 'q"\\' }, params: none })
    assert.deepEqual(of('d'), {
      kind: 'item',
      value: { type: 'token', value: 'tok/en:*' },
      params: new Map([['k', { type: 'token', value: '*t' }]]),
    })
    assert.deepEqual(of('e'), { kind: 'item', value: { type: 'bytes', value: new Uint8Array([1, 2]) }, params: none })
    assert.deepEqual(of('f'), { kind: 'item', value: { type: 'boolean', value: true }, params: none })
    const list = of('g')
    assert.deepEqual(list?.kind === 'list' && list.items.map(({ value, params }) => [value.type, params.size]), [
      ['string', 0],
      ['bytes', 1],
      ['token', 0],
    ])
    assert.deepEqual(list?.params.get('q'), { type: 'string', value: 'z' })
    assert.deepEqual(of('h'), { kind: 'list', items: [], params: none })
    assert.equal(parseDictionary('')?.size, 0)
  })

  it('are parsed in one pass: a million spaces within or around them take almost no time', () => {
    const spaces = ' '.repeat(1_000_000)
    assert.equal(parseDictionary(`a${spaces}b`), undefined)
    assert.equal(parseDictionary(`${spaces}a${spaces}`)?.size, 1)
  })

  for (const text of [
    ...['a=1,', ',a=1', 'a=1 b=2', 'a=1,,b=2', 'a=', 'a =1', 'a= 1', 'A=1', '1=a', 'a=1;', 'a=1;B', 'a=1;x=', 'a=1 ;x'],
    ...['a="', 'a="\\x"', 'a="é"', 'a="\u0000"', "a='x'", 'a=?2', 'a=?', 'a=1.', 'a=1.2345', 'a=.5', 'a=+1', 'a=1234567890123456', 'a=--1'],
    ...[
      'a=:AQI:',
      'a=:AQJ=:',
      'a=:A:',
      'a=:=:',
      'a=:AQ I=:',
      'a=:AQI=',
      'a=:AQI-:',
      'a=("x"',
      'a=("x""y")',
      'a=("x"\t"y")',
      'a=(("x"))',
      'a=)',
    ],
    ...['a=1, a=2', 'a=1;x;x=2', 'a=("x";p;p)', 'a=1\n', '\ta=1', 'a=@1', 'a=1\r\nb=2'],
  ]) {
    it(`are malformed as ${JSON.stringify(text)}`, () => assert.equal(parseDictionary(text), undefined))
  }
})
