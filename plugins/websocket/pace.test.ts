import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { Pace } from './pace.js'

test('a rate allows one second of messages at once, and no more in any second', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 300 }), (perSecond, gaps) => {
      const pace = new Pace(perSecond, 0)
      let now = 0
      const taken: number[] = []
      for (const gap of gaps) {
        now += gap
        if (pace.take(now)) taken.push(now)
      }
      for (const start of taken) {
        const inSecond = taken.filter((at) => at >= start && at < start + 1000).length
        assert.ok(inSecond <= 2 * perSecond, `${inSecond} in the second from ${start}`)
      }
      assert.ok(taken.length <= perSecond + (now / 1000) * perSecond)
      // A client that keeps to the rate is never refused.
      const fair = new Pace(perSecond, 0)
      for (let i = 1; i <= 200; i++) assert.ok(fair.take((i * 1000) / perSecond + 1))
    }),
  )
})

test('messages that waited while the connection was not read count for that time', () => {
  const pace = new Pace(10, 0)
  for (let i = 0; i < 10; i++) assert.equal(pace.take(0), true)
  pace.pause(0)
  pace.resume(5000)
  for (let i = 0; i < 50; i++) assert.equal(pace.take(5000), true)
  assert.equal(pace.take(5000), false)
  assert.equal(pace.take(6000), true)
})
