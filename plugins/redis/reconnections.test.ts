import assert from 'node:assert/strict'
import { it } from 'node:test'
import { reconnections } from './open.js'

it('a client reconnects at once when its server is replaced, and less and less often while it stays so; each client for itself', () => {
  let now = 0
  const may = reconnections(() => now)
  const [one, two] = [{}, {}]
  const seconds: number[] = []
  for (; now < 30_000; now += 100) if (may(one)) seconds.push(now / 1000)
  assert.deepEqual(seconds, [0, 1, 3, 7, 12, 17, 22, 27])
  assert.equal(may(two), true)
  now += 31_000
  assert.equal(may(one), true)
  now += 1_000
  assert.equal(may(one), true)
})
