import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { jobIdFault } from './job-id.js'
import { createJobIds } from './new-ids.js'

describe('new job ids', () => {
  it('are accepted as ids, have 20 characters, and sort in the order in which they were made, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 41 }), { minLength: 2 }), (times) => {
        let now = 0
        const next = createJobIds(() => now)
        const ids = times.map((time) => {
          now = time
          return next()
        })
        assert.ok(ids.every((id) => id.length === 20 && jobIdFault(id) === undefined))
        assert.deepEqual(ids.toSorted(), ids)
        assert.equal(new Set(ids).size, ids.length)
      }),
    )
  })

  it('differ between processes, and sort by time between them', () => {
    const [early, late] = [createJobIds(() => 1_800_000_000_000), createJobIds(() => 1_800_000_000_001)]
    const ids = Array.from({ length: 5_000 }, () => [early(), createJobIds(() => 1_800_000_000_000)(), late()]).flat()
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(early() < late())
  })
})
