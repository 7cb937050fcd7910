import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Probe, type ProbeLimits, type Reading } from './probe.js'

const limits: ProbeLimits = { timeoutMs: 20, cacheMs: 0, failAfter: 1, passAfter: 1 }

/** A check whose runs the test settles, and a clock that it moves. */
function setUp(own: Partial<ProbeLimits> = {}) {
  const time = { now: 1_000_000 }
  const runs: { resolve(value?: number | null): void; reject(error: Error): void; signal: AbortSignal }[] = []
  const seen: [Reading, boolean][] = []
  const check = {
    name: 'thing',
    run: (signal: AbortSignal) => new Promise<number | null | undefined>((resolve, reject) => runs.push({ resolve, reject, signal })),
  }
  const clock = { now: () => time.now, monotonic: () => time.now }
  const probe = new Probe(check, { ...limits, ...own }, clock, (reading, recovered) => seen.push([reading, recovered]))
  const next = async (settle: (run: (typeof runs)[number]) => void): Promise<Reading> => {
    const reading = probe.run()
    await Promise.resolve()
    settle(runs.at(-1) as (typeof runs)[number])
    return reading
  }
  return { probe, runs, seen, time, next }
}

describe('a probe', () => {
  it('shares one run between concurrent callers', async () => {
    const { probe, runs } = setUp()
    const readings = Array.from({ length: 200 }, () => probe.run())
    await Promise.resolve()
    runs[0]?.resolve(7)
    for (const reading of await Promise.all(readings))
      assert.deepEqual(reading, { present: true, ok: true, responseTime: 7, time: 1_000_000 })
    assert.equal(runs.length, 1)
  })

  it('measures the time itself when the check returns no number, and rounds it', async () => {
    const { next, time } = setUp()
    const reading = await next((run) => {
      time.now += 12.6
      run.resolve()
    })
    assert.equal(reading.responseTime, 13)
    assert.equal((await next((run) => run.resolve(3.4))).responseTime, 3)
  })

  it('is absent when the check returns null', async () => {
    assert.equal((await setUp().next((run) => run.resolve(null))).present, false)
  })

  it('fails with the message of the error, also when the check throws synchronously', async () => {
    const { next } = setUp()
    assert.equal((await next((run) => run.reject(new Error('no route')))).error, 'no route')
    const clock = { now: () => 0, monotonic: () => 0 }
    const throwing = {
      name: 'x',
      run: () => {
        throw new Error('at once')
      },
    }
    assert.equal((await new Probe(throwing, limits, clock, () => {}).run()).error, 'at once')
  })

  it('aborts at the deadline, discards a late result, and does not start a hung check again', async () => {
    const { probe, runs, time } = setUp()
    const late = await probe.run()
    assert.deepEqual([late.ok, late.error], [false, 'thing did not respond within 20 ms'])
    assert.equal(runs[0]?.signal.aborted, true)
    time.now += 50
    assert.deepEqual(await probe.run(), {
      present: true,
      ok: false,
      responseTime: 50,
      error: 'thing has not responded for 50 ms',
      time: time.now,
    })
    assert.equal(runs.length, 1)
    runs[0]?.resolve(1)
    await new Promise(setImmediate)
    assert.equal(probe.last?.ok, false)
  })

  it('runs again once a hung run has settled or was abandoned', async () => {
    const settled = setUp()
    await settled.probe.run()
    settled.runs[0]?.reject(new Error('at last'))
    await new Promise(setImmediate)
    assert.equal((await settled.next((run) => run.resolve(1))).ok, true)

    const forgotten = setUp()
    await forgotten.probe.run()
    forgotten.time.now += 20 * 15
    assert.equal((await forgotten.next((run) => run.resolve(1))).ok, true)
    assert.equal(forgotten.runs.length, 2)
  })

  it('reuses a good reading for cacheMs and a failure for 250 ms at most', async () => {
    const { probe, runs, time, next } = setUp({ cacheMs: 1000 })
    await next((run) => run.resolve(1))
    time.now += 999
    assert.equal((await probe.run()).responseTime, 1)
    assert.equal(runs.length, 1)
    time.now += 1
    await next((run) => run.reject(new Error('down')))
    assert.equal(runs.length, 2)
    time.now += 249
    assert.equal((await probe.run()).error, 'down')
    assert.equal(runs.length, 2)
    time.now += 1
    assert.equal((await next((run) => run.resolve(2))).ok, true)
  })

  it('fails after failAfter consecutive failed runs and passes after passAfter successful ones', async () => {
    const { next, seen } = setUp({ failAfter: 2, passAfter: 2 })
    const good = (run: { resolve(): void }): void => run.resolve()
    const bad = (run: { reject(error: Error): void }): void => run.reject(new Error('down'))
    const oks: boolean[] = []
    for (const settle of [good, bad, good, bad, bad, good, good]) oks.push((await next(settle)).ok)
    assert.deepEqual(oks, [true, true, true, true, false, false, true])
    assert.deepEqual(
      seen.map(([, recovered]) => recovered),
      [false, false, false, false, false, false, true],
    )
  })

  it('fails immediately when the very first run fails, whatever failAfter is', async () => {
    assert.equal((await setUp({ failAfter: 3 }).next((run) => run.reject(new Error('down')))).ok, false)
  })

  it('aborts a run in progress when it is closed', async () => {
    const { probe, runs } = setUp({ timeoutMs: 60_000 })
    const reading = probe.run()
    await Promise.resolve()
    probe.close()
    assert.deepEqual([(await reading).ok, runs[0]?.signal.aborted], [false, true])
  })
})
