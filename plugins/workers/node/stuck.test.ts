import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Stuck } from './stuck.js'

it('a worker is stuck until it takes jobs again, and with a broken queue until its errors have ended, too', () => {
  const stuck = new Stuck()
  assert.deepEqual([stuck.isOver(0, 0), stuck.isOver(1, 0), stuck.isBroken(0)], [false, true, false])
  stuck.broken(5, 1_000)
  assert.deepEqual([stuck.isBroken(30_999), stuck.isOver(6, 30_999)], [true, false])
  assert.deepEqual([stuck.isBroken(31_000), stuck.isOver(5, 31_000), stuck.isOver(6, 31_000)], [false, false, true])
  stuck.replaced()
  assert.equal(stuck.isOver(1, 31_000), true)
})
