import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { noAttempts } from '../snapshot/snapshot.js'
import { failureEvidence, falseAlarmMinutes, type MinuteCounts, recentFailures } from './failure-rate.js'
import { measureRule } from './rules.js'

/** Deterministic pseudo-random numbers between 0 and 1. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Simulates the minutes of a queue with a failure rate. Returns the minute of the first alarm, or undefined. */
function firstAlarm(random: () => number, rate: number, minutes: number, isAlarm: (seen: readonly MinuteCounts[]) => boolean) {
  const seen: MinuteCounts[] = []
  const busy = 1 + Math.floor(random() * 40)
  for (let minute = 1; minute <= minutes; minute++) {
    const jobs = Math.floor(random() * busy)
    let failed = 0
    for (let job = 0; job < jobs; job++) if (random() < rate) failed++
    seen.push({ completed: jobs - failed, failed })
    if (isAlarm(seen)) return minute
  }
  return undefined
}

/** 30 days without a false alarm. */
const month = falseAlarmMinutes(1 - 1 / 30)

const alarmAt = (minutes: number, limit: number) => (seen: readonly MinuteCounts[]) => failureEvidence(seen, limit).log >= Math.log(minutes)
const share = (runs: number, one: (random: () => number) => number | undefined): number => {
  const random = randomOf(7)
  return Array.from({ length: runs }, () => one(random)).filter((found) => found !== undefined).length / runs
}

describe('the failure rate of a queue', () => {
  it('raises fewer false alarms than stated at the threshold itself, where testing each minute separately raises many', () => {
    // An alarm every 200 minutes at most would be 0.3 in 60 minutes.
    const sequential = share(200, (random) => firstAlarm(random, 0.05, 60, alarmAt(200, 0.05)))
    assert.ok(sequential <= 0.3, `${sequential}`)
    const isOver = ({ completed, failed }: MinuteCounts): boolean => failed / Math.max(1, completed + failed) > 0.05
    const naive = share(200, (random) => firstAlarm(random, 0.05, 60, (seen) => seen.slice(-1).some(isOver)))
    assert.ok(naive > 0.9, `${naive}`)
  })

  it('raises none on five queues within a day at half the threshold', () => {
    assert.equal(
      share(5, (random) => firstAlarm(random, 0.025, 1_440, alarmAt(month, 0.05))),
      0,
    )
  })

  it('is detected quickly when it is high, also after an hour without failures', () => {
    const healthy = Array.from({ length: 60 }, () => ({ completed: 20, failed: 0 }))
    const found = firstAlarm(randomOf(1), 0.5, 10, (seen) => alarmAt(month, 0.05)([...healthy, ...seen]))
    assert.ok((found ?? 99) <= 5, `${found}`)
    assert.ok(alarmAt(month, 0.05)([{ completed: 0, failed: 5 }]))
    assert.ok(!alarmAt(month, 0.05)([{ completed: 0, failed: 3 }]))
  })

  it('handles the limits 0, at which every failure counts, and 1, at which none does', () => {
    assert.equal(failureEvidence([{ completed: 9, failed: 1 }], 0).log, Number.POSITIVE_INFINITY)
    assert.equal(failureEvidence([{ completed: 0, failed: 99 }], 1).log, Number.NEGATIVE_INFINITY)
    assert.equal(failureEvidence([], 0.05).log, Number.NEGATIVE_INFINITY)
  })
})

describe('the alert of a failure rate', () => {
  const queue = { counts: {}, oldestWaiting: null } as unknown as Parameters<typeof measureRule>[2]
  const measure = (
    minutes: readonly MinuteCounts[],
    limit: object,
    recent: MinuteCounts = minutes.at(-1) ?? { completed: 0, failed: 0 },
  ) => {
    const attempts = { minutes: new Map([[0, { ...noAttempts, ...recent }]]) } as unknown as Parameters<typeof measureRule>[3]
    const { exceeds, reason, value } = measureRule('failure-rate', { threshold: 0.5, ...limit }, queue, attempts, 0, minutes)
    return { exceeds, reason, value }
  }

  it('is raised by the plain ratio, once there are minAttempts', () => {
    const eightOfTen = [{ completed: 2, failed: 8 }]
    assert.deepEqual(measure(eightOfTen, {}), {
      exceeds: false,
      value: 0.8,
      reason: '8 of 10 attempts failed (80 %); the threshold is 50 %, and it counts from 20 attempts on',
    })
    assert.equal(measure(eightOfTen, { minAttempts: 10 }).exceeds, true)
    assert.equal(measure([...eightOfTen, ...eightOfTen], {}).exceeds, true)
    assert.equal(measure([{ completed: 10, failed: 10 }], {}).exceeds, false)
    const sixPercent = [{ completed: 94, failed: 6 }]
    assert.equal(measure(sixPercent, { threshold: 0.05 }).exceeds, true)
  })

  it('is raised by the sequential test only with a confidence', () => {
    const sixPercent = [{ completed: 94, failed: 6 }]
    assert.equal(measure(sixPercent, { threshold: 0.05, confidence: 0.95 }).exceeds, false)
    assert.equal(measure([{ completed: 2, failed: 8 }], { threshold: 0.05, confidence: 0.95 }).exceeds, true)
  })

  it('ends when no attempt fails any more', () => {
    assert.deepEqual(measure([{ completed: 0, failed: 50 }], {}, { completed: 9, failed: 0 }).value, 0)
    assert.equal(measure([{ completed: 0, failed: 50 }], {}, { completed: 0, failed: 0 }).value, null)
  })

  it('is that of the newest minutes with enough attempts, at most an hour and at least two minutes', () => {
    const minute = (failed: number): MinuteCounts => ({ completed: 10 - failed, failed })
    assert.deepEqual(recentFailures([minute(9), minute(1), minute(2)], 20), { failed: 3, attempts: 20 })
    assert.deepEqual(recentFailures([minute(9), minute(1), minute(2)], 1), { failed: 3, attempts: 20 })
    assert.deepEqual(
      recentFailures(
        Array.from({ length: 100 }, () => minute(1)),
        10_000,
      ),
      { failed: 60, attempts: 600 },
    )
    assert.deepEqual(recentFailures([], 20), { failed: 0, attempts: 0 })
  })
})
