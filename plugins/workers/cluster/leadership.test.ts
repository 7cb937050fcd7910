import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fakeClock, memoryLogger } from 'zin/testing'
import { eventually, levelsOf, overriding, silentLog, timers } from '../testing/helpers.js'
import type { Cluster } from './cluster.js'
import { runForLead } from './leadership.js'
import { Leaderships } from './leaderships.js'
import { memoryCluster } from './memory.js'

const role = 'pruner'

describe('the roles of a process', () => {
  it('are given up when all that hold one resigned, and can be had again', async () => {
    const clock = fakeClock()
    const cluster = memoryCluster({ clock })
    const leaderships = new Leaderships({ cluster, node: 'a', clock, log: silentLog })
    const [one, two] = [leaderships.lead(role), leaderships.lead(role)]
    await eventually('both lead', () => one.leads && two.leads)
    await one.resign()
    await one.resign()
    assert.deepEqual([one.leads, two.leads], [false, true])
    await two.resign()
    assert.equal(two.leads, false)
    const again = leaderships.lead(role)
    await eventually('it leads again', () => again.leads)
    await leaderships.close()
    assert.equal(again.leads, false)
  })
})

describe('a candidate for a leader role', () => {
  it('stops to lead by the monotonic clock when its renewal is late, whatever the wall clock does', async () => {
    const clock = fakeClock()
    const candidate = runForLead(memoryCluster({ clock }), { role, node: 'a', clock, leaseMs: 15_000, log: silentLog })
    assert.deepEqual([candidate.leads, candidate.epoch], [false, 0])
    candidate.start()
    candidate.start()
    await eventually('it leads', () => candidate.leads)
    clock.set(clock.now() + 3_600_000)
    assert.equal(candidate.leads, true)
    clock.advance(9_999)
    assert.equal(candidate.leads, true)
    clock.advance(1)
    assert.deepEqual([candidate.leads, candidate.epoch], [false, 1])
    await candidate.stop()
  })

  it('renews in time, and leaves no timer when it ends', async () => {
    const before = timers()
    const clock = fakeClock()
    const cluster = memoryCluster({ clock })
    let renewals = 0
    const counting = overriding(cluster, {
      lead: (...args) => {
        renewals++
        return cluster.lead(...args)
      },
    })
    const candidate = runForLead(counting, { role, node: 'a', clock, leaseMs: 30, log: silentLog })
    candidate.start()
    await eventually('three renewals', () => renewals >= 3)
    assert.equal(candidate.leads, true)
    await candidate.resign()
    assert.equal(timers(), before)
    const ended = renewals
    assert.equal(await cluster.lead(role, 'b', 1000), 2)
    await setImmediate()
    assert.equal(renewals, ended)
  })

  it('holds the role until its lease ends when it stops without giving it up, and can begin again', async () => {
    const clock = fakeClock()
    const cluster = memoryCluster({ clock })
    const candidate = runForLead(cluster, { role, node: 'a', clock, log: silentLog })
    candidate.start()
    await eventually('it leads', () => candidate.leads)
    const stopping = candidate.stop()
    assert.equal(candidate.leads, false)
    await stopping
    assert.equal(await cluster.lead(role, 'b', 15_000), undefined)
    candidate.start()
    await eventually('it leads again', () => candidate.leads)
    await candidate.resign()
    assert.equal(await cluster.lead(role, 'b', 15_000), 2)
  })

  it('warns once while the store is away, throws nothing, and leads again when the store is back', async () => {
    const clock = fakeClock()
    const cluster = memoryCluster({ clock })
    let away = true
    let tries = 0
    const guard = (): void => {
      tries++
      if (away) throw new Error('away')
    }
    const flaky = overriding(cluster, {
      lead: async (...args) => (guard(), cluster.lead(...args)),
      resign: async (...args) => (guard(), cluster.resign(...args)),
    })
    const log = memoryLogger()
    const candidate = runForLead(flaky, { role, node: 'a', clock, leaseMs: 15, log })
    candidate.start()
    await eventually('three tries', () => tries >= 3)
    assert.equal(candidate.leads, false)
    assert.deepEqual(levelsOf(log), ['warn'])
    away = false
    await eventually('it leads', () => candidate.leads)
    away = true
    await candidate.resign()
    assert.deepEqual(levelsOf(log), ['warn', 'info', 'warn'])
  })

  it('takes a role that another one gives up at once', async () => {
    const clock = fakeClock()
    const cluster = memoryCluster({ clock })
    const [a, b] = ['a', 'b'].map((node) => runForLead(cluster, { role, node, clock, leaseMs: 3_600_000, log: silentLog }))
    a?.start()
    await eventually('a leads', () => a?.leads === true)
    b?.start()
    await a?.resign()
    await eventually('b leads', () => b?.leads === true)
    assert.deepEqual([a?.epoch, b?.epoch], [1, 2])
    await b?.resign()
  })

  it('tries again at once when the role was given up in the middle of a try', async () => {
    const clock = fakeClock()
    const cluster = memoryCluster({ clock })
    await cluster.lead(role, 'a', 3_600_000)
    const { slow, answer, asked } = slowAnswers(cluster)
    const candidate = runForLead(slow, { role, node: 'b', clock, leaseMs: 3_600_000, log: silentLog })
    candidate.start()
    await asked()
    await cluster.resign(role, 'a')
    answer()
    await asked()
    answer()
    await eventually('it leads', () => candidate.leads)
    await candidate.resign()
  })

  it('plans no further try, and does not lead, when it is stopped in the middle of one', async () => {
    const clock = fakeClock()
    const { slow, answer, asked } = slowAnswers(memoryCluster({ clock }))
    const candidate = runForLead(slow, { role, node: 'a', clock, leaseMs: 3_600_000, log: silentLog })
    candidate.start()
    await asked()
    const before = timers()
    const stopping = candidate.stop()
    answer()
    await stopping
    assert.equal(candidate.leads, false)
    assert.equal(timers(), before)
  })
})

/** A cluster that holds back what it answers to `lead` until told. */
function slowAnswers(cluster: Cluster) {
  const waiting: (() => void)[] = []
  const slow = overriding(cluster, {
    lead: async (...args) => {
      const epoch = await cluster.lead(...args)
      await new Promise<void>((resolve) => waiting.push(resolve))
      return epoch
    },
  })
  return { slow, answer: () => waiting.shift()?.(), asked: () => eventually('it is asked', () => waiting.length > 0) }
}
