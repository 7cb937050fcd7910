import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, count, duration, percent, rate, relative } from './format.js'
import { rowWindow, windowTop } from './ui/window.js'

const plain = (text: string): string => text.replaceAll('\u00a0', ' ')

test('numbers, durations and sizes are formatted for reading', () => {
  assert.deepEqual([0, 9_999, 12_345, 1_234_567, 2.5e9].map(count).map(plain), ['0', '9,999', '12 k', '1.2 M', '2.5 G'])
  assert.deepEqual([0, 0.4, 340, 1_200, 59_700, 840_000, 7_500_000, 273_600_000].map(duration).map(plain), [
    '0 ms',
    '< 1 ms',
    '340 ms',
    '1.2 s',
    '1 min',
    '14 min',
    '2 h 05',
    '3 d 4 h',
  ])
  assert.deepEqual([0, 0.143, 1, Number.NaN].map(percent).map(plain), ['0 %', '14.3 %', '100 %', '–'])
  assert.deepEqual([0, 0.07, 4.23, 412.4].map(rate), ['0', '0.07', '4.2', '412'])
  assert.deepEqual([12, 1_500, 5_242_880].map(bytes).map(plain), ['12 B', '1.5 kB', '5.2 MB'])
  assert.deepEqual([relative(0, 180_000), relative(7_500_000, 0), relative(5, 0)].map(plain), ['3 min ago', 'in 2 h 05', 'now'])
})

test('only rows near the visible ones are rendered, and spacers keep the height of a long list', () => {
  const [count, row, view] = [10_000, 32, 640]
  const { after, before, end, first } = rowWindow(count, row, 160_000, view)
  assert.deepEqual([first, end], [4_992, 5_032])
  assert.equal(before + after + (end - first) * row, count * row)
  assert.deepEqual(rowWindow(3, row, 0, view), { first: 0, end: 3, before: 0, after: 0 })
  for (let top = 0; top < 1_000; top++) {
    const window = rowWindow(count, row, windowTop(top, row), view)
    assert.ok(window.first * row <= top && window.end * row >= top + view, `at ${top} px`)
  }
})
