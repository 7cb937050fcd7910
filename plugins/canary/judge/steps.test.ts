import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ladder, nextMove, type Verdict, wantsEarlyLook } from './index.js'

test('the ladder rises to the target in equal times', () => {
  const shares = (percent: number) => ladder(percent, 60_000).map(({ share }) => share)
  assert.deepEqual(shares(20), [0.01, 0.05, 0.1, 0.2])
  assert.deepEqual(shares(100), [0.01, 0.05, 0.1, 0.25, 0.5, 1])
  assert.deepEqual(shares(0.5), [0.005])
  assert.deepEqual(shares(5), [0.01, 0.05])
  assert.deepEqual(ladder(10, 60_000)[0], { share: 0.01, minDurationMs: 20_000 })
})

test('a step is over after its time and its jobs, and only a PASS promotes', () => {
  const steps = ladder(5, 20_000)
  const move = (verdict: Verdict, step: number, stepMs: number, stepJobs: number, totalMs = stepMs) =>
    nextMove(verdict, { steps, step, stepMs, totalMs, stepJobs })
  assert.equal(move('PASS', 0, 9_999, 50), 'stay')
  assert.equal(move('CONTINUE', 0, 10_000, 4), 'stay')
  assert.equal(move('CONTINUE', 0, 80_000, 4), 'pause')
  assert.equal(move('CONTINUE', 0, 10_000, 5), 'advance')
  assert.equal(move('CONTINUE', 1, 10_000, 50, 20_000), 'pause')
  assert.equal(move('PASS', 1, 10_000, 50, 20_000), 'promote')
  assert.equal(move('FAIL', 0, 1, 1), 'rollback')
  assert.equal(move('SAMPLE_RATIO', 0, 1, 1), 'pause')
  assert.equal(move('OUTAGE', 0, 1, 1), 'pause')
  const few = { steps, step: 1, stepMs: 10_000, stepJobs: 50, lacksJobs: true }
  assert.deepEqual(
    [20_000, 80_000].map((totalMs) => nextMove('CONTINUE', { ...few, totalMs })),
    ['stay', 'pause'],
  )
})

test('the first canary job of a process requests an evaluation when it fails, later ones when two in a row fail', () => {
  assert.deepEqual([wantsEarlyLook('none', 'bad'), wantsEarlyLook('bad', 'bad')], [true, true])
  assert.deepEqual([wantsEarlyLook('ok', 'bad'), wantsEarlyLook('bad', 'ok'), wantsEarlyLook('none', 'ok')], [false, false, false])
})
