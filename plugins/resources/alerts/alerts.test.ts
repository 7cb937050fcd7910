import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AlertRule } from '../snapshot.js'
import { snapshot } from '../testing/snapshot.js'
import { type AlertChange, Alerts } from './alerts.js'
import { type AlertThresholds, type Observed, rulesOf } from './rules.js'

const defaults: AlertThresholds = {
  eventLoopUtilization: 0.9,
  eventLoopDelayMs: 1000,
  heap: 0.9,
  containerMemory: 0.9,
  forecastHours: 3,
}
const hour = 3_600_000
const seconds = 1000

/** What changed over snapshots that are 30 s apart. */
function run(observed: readonly Partial<Observed>[], thresholds: Partial<AlertThresholds> = {}): readonly AlertChange[] {
  const alerts = new Alerts(rulesOf({ ...defaults, ...thresholds }))
  return observed.flatMap((one, index) => {
    const at = index * 30 * seconds
    return alerts.observe({ ...snapshot(), memory: undefined, ...one }, at, at)
  })
}

const told = (changes: readonly AlertChange[]): readonly (readonly [AlertRule, string, number])[] =>
  changes.map(({ at, rule, state }) => [rule, state, at / seconds])
const times = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value)
const growing = (hours: number): Partial<Observed> => ({ memory: { slope: 1, agreement: 1, level: 0, limitInMs: hours * hour } })

describe('alerts about a node', () => {
  const cases: readonly (readonly [title: string, observed: readonly Partial<Observed>[], changes: ReturnType<typeof told>])[] = [
    ['are none for a quiet one', times(20, {}), []],
    [
      'begin after two minutes of a busy event loop, and end after a quiet one',
      [...times(6, { eventLoopUtilization: 0.95 }), ...times(4, {})],
      [
        ['event-loop-busy', 'raised', 120],
        ['event-loop-busy', 'cleared', 240],
      ],
    ],
    ['are none for a busy minute', [...times(3, { eventLoopUtilization: 1 }), {}], []],
    [
      'begin with the first late second',
      [{}, { eventLoopDelayP99Ms: 1500 }, {}, {}, {}],
      [
        ['event-loop-delay', 'raised', 30],
        ['event-loop-delay', 'cleared', 120],
      ],
    ],
    ['begin when the heap is over nine tenths full', [{}, { heapUsed: 91, heapLimit: 100 }], [['heap', 'raised', 30]]],
    ['begin near the memory limit of the container', [{ containerMemory: 95, memoryLimit: 100 }], [['container-memory', 'raised', 0]]],
    ['are none about a container where there is none', [{ containerMemory: null, memoryLimit: 1 }], []],
    [
      'begin when memory grows for five minutes towards its limit, and end when it stops',
      [...times(12, growing(2.5)), ...times(22, { memory: { slope: 0, agreement: 0, level: 0 } })],
      [
        ['memory-trend', 'raised', 300],
        ['memory-trend', 'cleared', 960],
      ],
    ],
    ['are none about a limit that is far away', times(20, growing(4)), []],
  ]
  for (const [title, observed, changes] of cases) it(title, () => assert.deepEqual(told(run(observed)), changes))

  const thresholds: readonly (readonly [option: keyof AlertThresholds, value: number, observed: Partial<Observed>])[] = [
    ['eventLoopUtilization', 0.5, { eventLoopUtilization: 0.6 }],
    ['eventLoopDelayMs', 100, { eventLoopDelayP99Ms: 200 }],
    ['heap', 0.5, { heapUsed: 60, heapLimit: 100 }],
    ['containerMemory', 0.5, { containerMemory: 60, memoryLimit: 100 }],
    ['forecastHours', 10, growing(9)],
  ]
  for (const [option, value, observed] of thresholds) {
    it(`follow the option ${option}`, () => {
      assert.equal(run(times(12, observed)).length, 0)
      assert.equal(run(times(12, observed), { [option]: value }).length, 1)
    })
  }

  it('have a reason with their numbers', () => {
    const [raised] = run([{ containerMemory: 95, memoryLimit: 100 }])
    assert.deepEqual(raised, {
      rule: 'container-memory',
      state: 'raised',
      since: 0,
      at: 0,
      value: 0.95,
      threshold: 0.9,
      reason: 'The container uses 95 % of its memory limit',
    })
    assert.equal(run(times(12, growing(2.9)))[0]?.reason, 'Resident memory grows steadily and reaches its limit in about 3 h')
  })

  it('are cleared when monitoring stops', () => {
    const alerts = new Alerts(rulesOf(defaults))
    alerts.observe({ ...snapshot(), memory: undefined, heapUsed: 95, heapLimit: 100 }, 0, 0)
    assert.deepEqual(
      alerts.active.map(({ rule }) => rule),
      ['heap'],
    )
    assert.deepEqual(
      alerts.end(5).map(({ at, reason, rule, since, state }) => ({ at, reason, rule, since, state })),
      [
        {
          at: 5,
          reason: 'Monitoring of the node was stopped. Last state: The heap is 95 % full; V8 aborts the process when it is full',
          rule: 'heap',
          since: 0,
          state: 'cleared',
        },
      ],
    )
    assert.deepEqual([alerts.active, alerts.end(6)], [[], []])
  })
})
