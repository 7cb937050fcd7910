import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { failureEvidence, falseAlarmMinutes, type MinuteCounts } from './failure-rate.js'

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
      share(5, (random) => firstAlarm(random, 0.025, 1_440, alarmAt(falseAlarmMinutes, 0.05))),
      0,
    )
  })

  it('is detected quickly when it is high, also after an hour without failures', () => {
    const healthy = Array.from({ length: 60 }, () => ({ completed: 20, failed: 0 }))
    const found = firstAlarm(randomOf(1), 0.5, 10, (seen) => alarmAt(falseAlarmMinutes, 0.05)([...healthy, ...seen]))
    assert.ok((found ?? 99) <= 5, `${found}`)
    assert.ok(alarmAt(falseAlarmMinutes, 0.05)([{ completed: 0, failed: 5 }]))
    assert.ok(!alarmAt(falseAlarmMinutes, 0.05)([{ completed: 0, failed: 3 }]))
  })

  it('handles the limits 0, at which every failure counts, and 1, at which none does', () => {
    assert.equal(failureEvidence([{ completed: 9, failed: 1 }], 0).log, Number.POSITIVE_INFINITY)
    assert.equal(failureEvidence([{ completed: 0, failed: 99 }], 1).log, Number.NEGATIVE_INFINITY)
    assert.equal(failureEvidence([], 0.05).log, Number.NEGATIVE_INFINITY)
  })
})
