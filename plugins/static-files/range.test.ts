import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { parseRange } from './range.js'

describe('the header Range', () => {
  const cases: readonly (readonly [header: string, bytes: number, range: readonly [number, number] | 'unsatisfiable' | undefined])[] = [
    ['bytes=0-4', 10, [0, 4]],
    ['bytes=5-', 10, [5, 9]],
    ['bytes=-3', 10, [7, 9]],
    ['bytes=-30', 10, [0, 9]],
    ['bytes=0-99', 10, [0, 9]],
    ['bytes=9-9', 10, [9, 9]],
    ['BYTES=0-0', 10, [0, 0]],
    ['bytes= 0-0 ', 10, [0, 0]],
    ['bytes=0-99999999999999999999999', 10, [0, 9]],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=10-12', 10, 'unsatisfiable'],
    ['bytes=99999999999999999999999-', 10, 'unsatisfiable'],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    // RFC 9110 14.1.2: satisfiable unless the length is zero (helidon 12259).
    ['bytes=-1', 0, undefined],
    ['bytes=-0', 0, 'unsatisfiable'],
    // node-static 209
    ['bytes: 0-22', 10, undefined],
    ['bytes=-18446744073709551616', 10, [0, 9]],
    ['bytes=5-2', 10, undefined],
    ['bytes=-', 10, undefined],
    ['bytes=a-b', 10, undefined],
    ['bytes=1.5-2', 10, undefined],
    ['bytes=0-1,3-4', 10, undefined],
    ['items=0-1', 10, undefined],
    ['bytes', 10, undefined],
    ['', 10, undefined],
  ]
  for (const [header, bytes, range] of cases) {
    it(`"${header}" of ${bytes} bytes`, () => {
      const expected = Array.isArray(range) ? { start: range[0], end: range[1] } : range
      assert.deepEqual(parseRange(header, bytes), expected)
    })
  }

  it('never leads out of the file', () => {
    const number = fc.oneof(fc.constant(''), fc.nat({ max: 30 }).map(String))
    fc.assert(
      fc.property(number, number, fc.nat({ max: 20 }), (first, last, bytes) => {
        const range = parseRange(`bytes=${first}-${last}`, bytes)
        if (range === undefined || range === 'unsatisfiable') return
        assert.ok(range.start >= 0 && range.start <= range.end && range.end < bytes)
      }),
    )
  })
})
