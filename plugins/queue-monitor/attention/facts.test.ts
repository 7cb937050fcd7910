import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { WorkerCounts, Workers } from 'zin/plugins/workers'
import type { EndpointOutcomes } from '../deliveries/outcomes.js'
import { MonitorFacts, type MonitorFactsParts } from './facts.js'

/** An app with one worker, whose attempts and sample of the queue are set. */
function appOf() {
  const now = Date.parse('2026-03-01T10:00:30.000Z')
  const state = {
    lastHour: { completed: 0, failed: 10 },
    twoHours: { completed: 0, failed: 10 },
    failureRate: 1,
    attempts: 10,
    endpoints: [] as readonly string[],
    outcomes: {} as EndpointOutcomes,
  }
  const queue = { size: 0, active: 0, waiting: 0, oldestWaitingMs: null, paused: false, throughput: 0 }
  const counts = async (names: readonly string[], { since }: { since?: number } = {}) =>
    names.map((worker) => ({ worker, version: '1.0.0', ...(since === undefined ? state.lastHour : state.twoHours) })) as WorkerCounts[]
  const listed = { workers: [{ name: 'mails', queueName: 'mails', state: 'running' }], pagination: { totalPages: 1 } }
  const parts = {
    monitor: {
      stats: async () => ({
        sampledAt: new Date(now).toISOString(),
        queues: { mails: { ...queue, failureRate: state.failureRate, attempts: state.attempts } },
      }),
      jobs: async () => ({ jobs: [] }),
    },
    alerts: { active: async () => [] },
    endpoints: {
      list: async () =>
        state.endpoints.map((id) => ({ id, target: id, queues: '*', disabled: null, createdAt: new Date(0).toISOString() })),
    },
    outcomes: { read: async () => state.outcomes },
    workers: () => ({ enabled: true, list: async () => listed, counts }) as unknown as Workers,
    now: () => now,
  } as unknown as MonitorFactsParts
  const facts = new MonitorFacts(parts)
  const causes = async () => {
    const report = await facts.report()
    assert.deepEqual(report.notChecked, [])
    return report.facts.map(({ cause }) => cause.replace(/.*attempts, /, ''))
  }
  return { state, causes, facts, now }
}

it('a failing version stays listed when a sample of its queue lacks the attempts, as an older one does', async () => {
  const { causes, state } = appOf()
  assert.deepEqual(await causes(), ['10 of 10 in the last hour'])
  Object.assign(state, { failureRate: null, attempts: 0 })
  assert.deepEqual(await causes(), ['10 of 10 in the last hour'])
})

it('a version that fails in each run of an hourly schedule is not told with each run, and goes once it works or no longer runs', async () => {
  for (const [lastHour, twoHours] of [
    [
      { completed: 100, failed: 0 },
      { completed: 100, failed: 10 },
    ],
    [
      { completed: 0, failed: 0 },
      { completed: 0, failed: 0 },
    ],
  ] as const) {
    const { causes, state } = appOf()
    await causes()
    // Between two runs.
    Object.assign(state, { lastHour: { completed: 0, failed: 1 }, failureRate: null, attempts: 0 })
    assert.deepEqual(await causes(), ['10 of 10 in the last two hours'])
    assert.deepEqual(await causes(), ['10 of 10 in the last two hours'])
    Object.assign(state, { lastHour, twoHours })
    assert.deepEqual(await causes(), [])
    Object.assign(state, { lastHour: { completed: 0, failed: 1 }, twoHours: { completed: 0, failed: 10 } })
    assert.deepEqual(await causes(), [])
  }
})

it('each webhook is judged by its own deliveries, however many another one has', async () => {
  const { facts, now, state } = appOf()
  Object.assign(state, { failureRate: null, attempts: 0 })
  const bad = (dead: number, minutesAgo: number) => ({
    bad: now - minutesAgo * 60_000,
    since: now - 7_200_000,
    error: 'no',
    dead,
    trying: 0,
  })
  state.endpoints = ['busy', 'quiet', 'works', 'new']
  state.outcomes = { busy: bad(5_000, 0), quiet: bad(1, 90), works: { ...bad(0, 0), bad: 0, good: now } }
  const report = await facts.report()
  assert.deepEqual(
    report.facts.map(({ count, kind, subject }) => [kind, subject, count]),
    [
      ['webhook-failing', 'webhook:busy', 5_000],
      ['webhook-failing', 'webhook:quiet', 1],
    ],
  )
  assert.deepEqual(report.notChecked, [])
})
