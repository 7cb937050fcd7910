import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { WaitBudget } from './deadline.js'

const never = (): Promise<never> => new Promise(() => undefined)

describe('a wait budget', () => {
  it('gives a later wait the time that earlier ones left, and starts nothing when it is used up', async () => {
    const budget = new WaitBudget(400, 'too slow')
    assert.equal(await budget.run(() => delay(240, 'first')), 'first')
    const begun: string[] = []
    // With a separate time limit, this one would finish in time.
    await assert.rejects(async () => budget.run(() => delay(360)), { code: 'ZIN_DEADLINE', message: 'too slow' })
    assert.throws(() => budget.run(() => begun.push('third')), { code: 'ZIN_DEADLINE' })
    assert.deepEqual(begun, [])
  })

  it('limits a wait that never ends', async () => {
    await assert.rejects(async () => new WaitBudget(1, 'too slow').run(never), { code: 'ZIN_DEADLINE' })
  })

  it('returns a synchronous result at once, and passes errors on', async () => {
    const budget = new WaitBudget(1_000, 'too slow')
    assert.equal(
      budget.run(() => 7),
      7,
    )
    await assert.rejects(async () => budget.run(() => Promise.reject(new Error('down'))), /down/)
  })

  it('does not count the time between two waits', async () => {
    const budget = new WaitBudget(20, 'too slow')
    await budget.run(async () => undefined)
    await delay(40)
    assert.equal(await budget.run(async () => 'second'), 'second')
  })
})
