import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RetryBudget } from './retry-budget.js'

describe('RetryBudget', () => {
  it('allows a fifth of the calls plus 3 per second, over 10 s', () => {
    const budget = new RetryBudget({ ratio: 0.2, perSecond: 3 })
    let retries = 0
    for (let call = 0; call < 1000; call++) {
      budget.call(5000)
      while (budget.retry(5000)) retries++
    }
    assert.equal(retries, 230)
  })

  it('forgets calls and retries after 10 s', () => {
    const budget = new RetryBudget({ ratio: 0, perSecond: 0.1 })
    assert.equal(budget.retry(0), true)
    assert.equal(budget.retry(9999), false)
    assert.equal(budget.retry(10_000), true)
    assert.equal(budget.retry(1_000_000), true)
  })
})
