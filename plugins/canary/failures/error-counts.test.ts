import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../scripts/testing/properties.js'
import type { ErrorCounts } from '../judge/index.js'
import { addError, mergeErrors, topErrors } from './error-counts.js'

const none = (): ErrorCounts => ({ stable: [], canary: [] })
const error = (message: string) => ({ class: 'Error', message })

describe('the errors of a canary', () => {
  it('are counted by kind and version, with the first job as the example', () => {
    const counts = none()
    for (const id of ['1', '2', '3']) addError(counts, 'canary', error('broken'), id)
    addError(counts, 'canary', { class: 'TypeError', message: 'broken' }, '4')
    addError(counts, 'stable', error('greylisted'), '5')
    assert.deepEqual(topErrors(counts), {
      stable: [{ class: 'Error', message: 'greylisted', count: 1, example: '5' }],
      canary: [
        { class: 'Error', message: 'broken', count: 3, example: '1' },
        { class: 'TypeError', message: 'broken', count: 1, example: '4' },
      ],
    })
  })

  it('are bounded: a frequent one stays when there are many different ones, and what is shown fits into a decision', () => {
    const counts = none()
    for (let n = 0; n < 1_000; n++) {
      addError(counts, 'canary', error('frequent'), '1')
      addError(counts, 'canary', error(`${'日'.repeat(150)}${String.fromCodePoint(0x4e00 + n)}`), 'x'.repeat(200))
    }
    assert.equal(counts.canary.length, 20)
    const { canary } = topErrors(counts)
    assert.deepEqual([canary[0]?.message, canary[0]?.count], ['frequent', 1_000])
    assert.ok(Buffer.byteLength(JSON.stringify(canary)) <= 1_400)
  })

  it('of several processes add up to the same in any order', () => {
    const some = fc.array(fc.tuple(fc.constantFrom('stable' as const, 'canary' as const), fc.constantFrom('a', 'b', 'c', '__proto__')))
    const of = (seen: readonly (readonly ['stable' | 'canary', string])[]): ErrorCounts => {
      const counts = none()
      for (const [arm, message] of seen) addError(counts, arm, error(message), 'job')
      return counts
    }
    fc.assert(
      fc.property(some, some, (one, other) => {
        const sum = of([])
        for (const part of [of(one), of(other)]) mergeErrors(sum, part)
        const reversed = of([])
        for (const part of [of(other), of(one)]) mergeErrors(reversed, part)
        assert.deepEqual(sum, reversed)
        assert.deepEqual(topErrors(sum), topErrors(of([...one, ...other])))
      }),
    )
  })
})
