import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { suggest } from './suggest.js'

const hooks = ['onJobStart', 'onJobComplete', 'onJobFailed', 'onScale']

describe('suggest', () => {
  it('finds the intended candidate despite a wrong, missing, extra or swapped letter or wrong case', () => {
    for (const typo of ['onJobStrat', 'onJobStar', 'onJobStartt', 'onJobSturt', 'onjobstart', 'OnJobStart']) {
      assert.equal(suggest(typo, hooks), 'onJobStart', typo)
    }
  })

  it('prefers the nearest, and among equals the first', () => {
    assert.equal(suggest('kat', ['car', 'cat', 'bat']), 'cat')
    assert.equal(suggest('ports', ['porta', 'portb']), 'porta')
  })

  it('suggests nothing if nothing is near', () => {
    assert.equal(suggest('frobnicate', hooks), undefined)
    assert.equal(suggest('ab', ['xy', 'xb']), undefined)
    assert.equal(suggest('', hooks), undefined)
    assert.equal(suggest('onScale', []), undefined)
  })

  it('counts swapped neighbours as one difference', () => {
    assert.equal(suggest('kv', ['vk']), undefined)
    assert.equal(suggest('abd', ['adb']), 'adb')
  })

  it('allows no more differences than the given maximum', () => {
    assert.equal(suggest('WORKER_CONCRNCY', ['WORKER_CONCURRENCY'], 3), 'WORKER_CONCURRENCY')
    assert.equal(suggest('WORKER_CONCRNCY', ['WORKER_CONCURRENCY'], 2), undefined)
  })

  it('accepts any iterable', () => {
    assert.equal(suggest('queus', new Set(['queues'])), 'queues')
  })
})
