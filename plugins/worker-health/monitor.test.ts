import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LocalWorker } from 'zin/plugins/workers'
import { fakeClock } from 'zin/testing'
import { checkWorker } from './check.js'
import { Monitor } from './monitor.js'
import type { CheckOutcome } from './outcome.js'

const worker = (more: Partial<LocalWorker> = {}): LocalWorker => ({
  name: 'mailer',
  version: '1.0.0',
  state: 'running',
  routeFallbacks: 0,
  monitored: true,
  features: {},
  healthCheck: undefined,
  ...more,
})

/** A monitor of one worker on a clock that only moves by hand. */
const setUp = (
  first: LocalWorker,
  {
    intervalMs = 1000,
    ping = async () => undefined,
    threshold = 2,
  }: { intervalMs?: number; ping?: () => Promise<unknown>; threshold?: number } = {},
) => {
  const clock = fakeClock()
  const state = { workers: [first], failed: [] as Error[], critical: [] as CheckOutcome[], results: [] as CheckOutcome[], reported: 0 }
  const log = { warn: () => undefined, error: () => undefined }
  const monitor = new Monitor({
    local: () => ({
      node: 'here',
      list: () => state.workers,
      fail: async (_name, error) => {
        state.failed.push(error)
        state.workers = state.workers.map((one) => ({ ...one, state: 'FAILED' as const }))
      },
      reportCheck: () => void state.reported++,
    }),
    check: (one, earlier) => checkWorker(one, earlier, { clock, timeoutMs: 20, ping }),
    clock,
    log: log as never,
    intervalMs,
    threshold,
    onResult: async (_name, outcome) => void state.results.push(outcome),
    onCritical: (_name, outcome) => void state.critical.push(outcome),
    criticalMs: 20,
    random: () => 0.5,
  })
  /** Lets the time pass and the checks that are due end. */
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    monitor.tick()
    await monitor.idle()
  }
  monitor.tick()
  return { clock, state, monitor, pass }
}

describe('the monitor', () => {
  it('checks again after 10 s, not after the whole interval, when a store did not respond', async () => {
    let isDown = true
    const ping = async () => {
      if (isDown) throw new Error('the store does not respond')
    }
    const { state, pass } = setUp(worker(), { intervalMs: 60_000, ping })
    await pass(30_000)
    isDown = false
    await pass(10_000)
    assert.deepEqual(
      state.results.map(({ healthy }) => healthy),
      [false, true],
    )
    await pass(59_999)
    assert.equal(state.results.length, 2)
    await pass(1)
    assert.equal(state.results.length, 3)
  })

  it('checks a worker within one interval, then once an interval', async () => {
    let checks = 0
    const { state, pass } = setUp(worker({ healthCheck: () => ({ healthy: checks++ >= 0 }) }))
    assert.equal(checks, 0)
    await pass(500)
    assert.equal(checks, 1)
    await pass(999)
    assert.equal(checks, 1)
    await pass(1)
    assert.equal(checks, 2)
    assert.deepEqual([state.results.map((result) => result.healthy), state.reported], [[true, true], 2])
  })

  it('fails a worker after two consecutive failures, once', async () => {
    let healthy = false
    const { state, pass } = setUp(worker({ healthCheck: () => ({ healthy, error: 'no disk' }) }))
    await pass(500)
    healthy = true
    await pass(1000)
    healthy = false
    await pass(1000)
    assert.equal(state.failed.length, 0)
    await pass(1000)
    assert.match(state.failed[0]?.message ?? '', /2 consecutive health checks failed. Last error: no disk/)
    assert.deepEqual(
      state.critical.map(({ failures, error }) => [failures, error]),
      [[2, 'no disk']],
    )
    await pass(5000)
    assert.equal(state.failed.length, 1)
    assert.equal(state.results.length, 4)
  })

  it('counts a check that throws, returns an invalid result or times out as a failure', async () => {
    for (const healthCheck of [
      () => {
        throw new Error('boom')
      },
      () => 'fine' as never,
      () => new Promise<never>(() => {}),
    ]) {
      const { state, pass } = setUp(worker({ healthCheck }))
      await pass(500)
      assert.equal(state.results[0]?.healthy, false)
      assert.equal(state.results[0]?.failures, 1)
    }
  })

  it('does not count an outage of the queue store', async () => {
    const { state, pass } = setUp(worker(), { ping: () => Promise.reject(new Error('connection refused')) })
    for (const ms of [500, 1000, 1000, 1000]) await pass(ms)
    assert.equal(state.failed.length, 0)
    assert.deepEqual(
      state.results.map(({ healthy, failures }) => [healthy, failures]),
      [
        [false, 0],
        [false, 0],
        [false, 0],
        [false, 0],
      ],
    )
  })

  it('never runs two checks of a worker at once', async () => {
    let running = 0
    let most = 0
    let release: () => void = () => undefined
    const { monitor, pass } = setUp(
      worker({
        healthCheck: async () => {
          most = Math.max(most, ++running)
          await new Promise<void>((resolve) => {
            release = resolve
          })
          running--
          return { healthy: true }
        },
      }),
    )
    const first = pass(500)
    for (let n = 0; n < 5; n++) monitor.tick()
    await new Promise((resolve) => setImmediate(resolve))
    release()
    await first
    assert.equal(most, 1)
  })

  it('does not start a check while an earlier one ignores its signal, and counts that as a failure', async () => {
    let checks = 0
    let release: (result: { healthy: boolean }) => void = () => undefined
    const healthCheck = () => {
      checks++
      return new Promise<{ healthy: boolean }>((resolve) => {
        release = resolve
      })
    }
    const { state, pass } = setUp(worker({ healthCheck }), { threshold: 3 })
    await pass(500)
    await pass(1100)
    assert.equal(checks, 1)
    assert.deepEqual(
      state.results.map(({ counts, failures }) => [counts, failures]),
      [
        [true, 1],
        [true, 2],
      ],
    )
    assert.match(state.results[1]?.error ?? '', /no response within 20 ms: an earlier check still runs/)
    release({ healthy: true })
    await new Promise((resolve) => setImmediate(resolve))
    await pass(1100)
    assert.deepEqual([checks, state.results[2]?.failures], [2, 3])
    assert.equal(state.failed.length, 1)
    // A restarted worker is checked again, whatever the check before it does.
    state.workers = []
    await pass(0)
    state.workers = [worker({ healthCheck })]
    await pass(0)
    await pass(500)
    assert.equal(checks, 3)
  })

  it('drops the result for a version that was replaced meanwhile, and continues with the new one', async () => {
    let answer: (result: { healthy: boolean }) => void = () => undefined
    const slow = () => new Promise<{ healthy: boolean }>((resolve) => (answer = resolve))
    const { clock, state, monitor, pass } = setUp(worker({ healthCheck: slow }))
    clock.advance(500)
    monitor.tick()
    while (state.workers[0]?.version === '1.0.0') {
      await new Promise((resolve) => setImmediate(resolve))
      state.workers = [worker({ version: '1.1.0', healthCheck: () => ({ healthy: true }) })]
    }
    monitor.tick()
    answer({ healthy: false })
    await monitor.idle()
    assert.deepEqual([state.results, state.reported], [[], 0])
    await pass(1000)
    assert.deepEqual(
      state.results.map(({ healthy }) => healthy),
      [true],
    )
  })

  it('keeps only the storable part of a check result', async () => {
    const loop: Record<string, unknown> = {}
    loop.loop = loop
    const results = [
      { details: { lag: 10n } },
      { details: loop },
      { details: { text: 'x'.repeat(20_000) } },
      { error: new Error('no disk') },
      { error: 'x'.repeat(5000) },
    ]
    const { state, pass } = setUp(worker({ healthCheck: () => ({ healthy: false, ...(results.shift() as object) }) as never }))
    for (let check = 0; check < 5; check++) {
      await pass(1000)
      state.workers = [worker({ healthCheck: state.workers[0]?.healthCheck })]
    }
    for (const { details, error } of state.results) {
      assert.equal(typeof error, 'string')
      assert.ok(JSON.stringify([details ?? null, error]).length < 1200)
    }
    assert.equal(state.results[3]?.error, 'no disk')
  })

  it('ignores workers that are not monitored or not running, and restarts with another version', async () => {
    let checks = 0
    const healthCheck = () => ({ healthy: checks++ < 0 })
    const { state, pass } = setUp(worker({ monitored: false, healthCheck }))
    await pass(5000)
    state.workers = [worker({ state: 'stopped', healthCheck })]
    await pass(5000)
    assert.equal(checks, 0)
    state.workers = [worker({ healthCheck })]
    await pass(0)
    await pass(500)
    state.workers = [worker({ version: '1.1.0', healthCheck })]
    await pass(0)
    await pass(500)
    assert.equal(checks, 2)
    assert.equal(state.failed.length, 0)
  })
})
