import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bullPriority, levelOf, priorityOf } from './priority.js'

describe('job priorities', () => {
  const rows = [
    ['Critical', 10, 1],
    ['High', 5, 51],
    ['Normal', 1, 91],
    ['Low', 0, 101],
  ] as const
  for (const [name, level, bull] of rows) {
    it(`maps ${name} to ${level} and to BullMQ's ${bull}`, () => {
      assert.equal(priorityOf(name), level)
      assert.equal(priorityOf(name.toLowerCase()), level)
      assert.equal(priorityOf(level), level)
      assert.equal(bullPriority(level), bull)
    })
  }

  it('converts stored numbers back to levels, and other numbers to the nearest level', () => {
    for (let level = 0; level <= 10; level++) assert.equal(levelOf(bullPriority(level)), level)
    assert.deepEqual([levelOf(0), levelOf(2), levelOf(2_097_151)], [null, 10, 0])
  })

  it('rejects all other names and numbers', () => {
    for (const value of ['urgent', '', '5', 'constructor', -1, 11, 1.5, Number.NaN, null, {}, true])
      assert.equal(priorityOf(value), undefined)
  })
})
