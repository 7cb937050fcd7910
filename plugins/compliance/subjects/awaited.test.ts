import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LostJobs } from './awaited.js'

it('a job is lost once its lock has been gone for the whole time, and not if its process took the lock again meanwhile', () => {
  const looks = new LostJobs(30_000)
  const look = (unlocked: readonly string[], now: number) => looks.lostOf('orders', ['1', '2'], unlocked, now)
  assert.deepEqual(look(['1', '2'], 0), [])
  assert.deepEqual(look(['1'], 29_999), [])
  assert.deepEqual(look(['1', '2'], 30_000), ['1'])
  assert.deepEqual(looks.lostOf('letters', ['1'], ['1'], 59_999), [])
  assert.deepEqual(look(['1', '2'], 59_999), ['1'])
  assert.deepEqual(look(['1', '2'], 60_000), ['1', '2'])
})
