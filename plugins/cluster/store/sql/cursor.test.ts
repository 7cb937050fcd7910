import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock } from 'zin/testing'
import { Cursor } from './cursor.js'

const rows = (...ids: number[]) => ids.map((id) => ({ id, body: `m${id}` }))

describe('a cursor over rows that become visible out of order', () => {
  it('delivers each row once, including late ones', () => {
    const cursor = new Cursor(10, fakeClock())
    assert.deepEqual(cursor.take(rows(11, 12, 15)), ['m11', 'm12', 'm15'])
    assert.deepEqual([cursor.last, cursor.missing], [15, [13, 14]])
    assert.deepEqual(cursor.take(rows(14, 16)), ['m14', 'm16'])
    assert.deepEqual(cursor.missing, [13])
    assert.deepEqual(cursor.take(rows(9, 14, 15)), [])
    assert.deepEqual(cursor.take(rows(13)), ['m13'])
    assert.deepEqual([cursor.last, cursor.missing], [16, []])
  })

  it('waits for skipped rows for a limited time, and delivers one that appears at the last moment', () => {
    const clock = fakeClock()
    const cursor = new Cursor(0, clock)
    cursor.take(rows(4))
    clock.advance(5_001)
    assert.deepEqual(cursor.take(rows(2)), ['m2'])
    assert.deepEqual(cursor.missing, [])
    assert.deepEqual(cursor.take(rows(1)), [])
  })

  it('waits for a limited number of rows, the newest ones', () => {
    const cursor = new Cursor(0, fakeClock())
    cursor.take(rows(1_000_000))
    assert.deepEqual([cursor.missing.length, cursor.missing[0]], [500, 999_500])
    cursor.take(rows(1_000_101))
    assert.deepEqual([cursor.missing.length, cursor.missing.at(-1)], [500, 1_000_100])
  })
})
