import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Admission, admit, afterProbe, type Circuit, type HalfOpenCircuit, leaseMs, opened, renewed } from './circuit.js'
import { duration, sentenceOf, whyOpened } from './circuit-text.js'
import { breakerOptions } from './options.js'
import { type BreakerRules, openFor } from './rules.js'

const rules: BreakerRules = breakerOptions.defaults
const why = '7 of 10 jobs failed within 60 s'
const open = opened(why, 1000, rules)
const base = { since: 1000, openings: 1, reason: why }
const half = (fields: Partial<HalfOpenCircuit> = {}): HalfOpenCircuit => ({ state: 'half-open', ...base, passed: 0, probes: {}, ...fields })
const alive = (...jobs: readonly string[]) => Object.fromEntries(jobs.map((job) => [job, { node: 'n', until: 90_000 }]))
const fresh = { node: 'me', until: 31_000 + leaseMs }

const admissions: readonly (readonly [title: string, circuit: Circuit | undefined, now: number, expected: Admission])[] = [
  ['a closed circuit lets a job run', undefined, 1000, { as: 'free' }],
  ['an open one delays it until its time has passed', open, 2000, { as: 'delayed', waitMs: 29_000 }],
  [
    'an open one delays it for a minute at most',
    { ...open, openings: 10, until: 1000 + openFor(rules, 10) },
    1000,
    { as: 'delayed', waitMs: 60_000 },
  ],
  [
    'an open one whose time a clock has set that went back by an hour makes it a probe',
    { ...open, until: 3_631_000 },
    31_000,
    {
      as: 'probe',
      next: half({ probes: { job: fresh } }),
    },
  ],
  [
    'an open one keeps its time when the clocks of two processes differ by half a minute',
    { ...open, until: 61_000 },
    1000,
    { as: 'delayed', waitMs: 60_000 },
  ],
  [
    'probes whose lease a clock has set that went back do not count',
    half({ probes: { a: { node: 'n', until: 3_631_000 }, b: { node: 'n', until: 3_631_000 }, c: { node: 'n', until: 3_631_000 } } }),
    31_000,
    {
      as: 'probe',
      next: half({ probes: { job: fresh } }),
    },
  ],
  ['an open one whose time has passed makes it a probe', open, 31_000, { as: 'probe', next: half({ probes: { job: fresh } }) }],
  [
    'a half-open one makes it a probe while fewer than three run',
    half({ probes: alive('a', 'b') }),
    31_000,
    { as: 'probe', next: half({ probes: { ...alive('a', 'b'), job: fresh } }) },
  ],
  ['a half-open one delays it while three run', half({ probes: alive('a', 'b', 'c') }), 31_000, { as: 'delayed', waitMs: 5000 }],
  [
    'a half-open one delays it when those that run and have passed are three',
    half({ passed: 2, probes: alive('a') }),
    31_000,
    { as: 'delayed', waitMs: 5000 },
  ],
  [
    'the lease of a process that died makes room',
    half({ passed: 2, probes: { a: { node: 'dead', until: 30_999 } } }),
    31_000,
    { as: 'probe', next: half({ passed: 2, probes: { job: fresh } }) },
  ],
  [
    'a probe whose process died is the same probe again',
    half({ probes: alive('a', 'b', 'job') }),
    31_000,
    { as: 'probe', next: half({ probes: { ...alive('a', 'b'), job: fresh } }) },
  ],
]

const ends: readonly (readonly [
  title: string,
  circuit: Circuit | undefined,
  outcome: 'passed' | 'failed' | 'none',
  expected: Circuit | undefined,
])[] = [
  ['a probe that passed is counted', half({ probes: alive('job', 'b') }), 'passed', half({ passed: 1, probes: alive('b') })],
  ['the third one that passed closes the circuit', half({ passed: 2, probes: alive('job') }), 'passed', undefined],
  [
    'one that failed opens it again for twice the time',
    half({ passed: 2, probes: alive('job', 'b') }),
    'failed',
    { state: 'open', ...base, openings: 2, until: 91_000 },
  ],
  ['one that was cancelled makes room', half({ passed: 1, probes: alive('job', 'b') }), 'none', half({ passed: 1, probes: alive('b') })],
  ['a job that is not a probe changes nothing', half({ probes: alive('b') }), 'failed', half({ probes: alive('b') })],
  ['an open circuit is unchanged', open, 'passed', open],
  ['a closed circuit is unchanged', undefined, 'failed', undefined],
]

describe('a circuit', () => {
  for (const [title, circuit, now, expected] of admissions)
    it(title, () => {
      assert.deepEqual(admit(circuit, 'job', 'me', now, rules), expected)
    })

  for (const [title, circuit, outcome, expected] of ends)
    it(title, () => {
      assert.deepEqual(afterProbe(circuit, 'job', outcome, 31_000, rules), expected)
    })

  it('renews the leases of running probes', () => {
    const circuit = half({ probes: alive('a', 'b') })
    assert.deepEqual(
      renewed(circuit, new Set(['a', 'gone']), 80_000),
      half({ probes: { ...alive('b'), a: { node: 'n', until: 80_000 + leaseMs } } }),
    )
    assert.equal(renewed(open, new Set(['a']), 80_000), open)
  })

  it('is open for 30 s, then twice as long each time, and 10 minutes at most', () => {
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 7, 2000].map((openings) => openFor(rules, openings) / 1000),
      [30, 60, 120, 240, 480, 600, 600, 600],
    )
    assert.equal(openFor({ ...rules, openMs: 900_000 }, 3), 900_000)
  })

  it('is described in sentences', () => {
    const again: Circuit = { ...open, openings: 2 }
    assert.deepEqual(
      [
        sentenceOf(undefined, open, rules),
        sentenceOf(open, half(), rules),
        sentenceOf(half(), again, rules),
        sentenceOf(half({ passed: 2 }), undefined, rules),
        whyOpened({ rule: 'failure-ratio', jobs: 10, failed: 7, inARow: 2 }, rules),
        whyOpened({ rule: 'consecutive-failures', jobs: 5, failed: 5, inARow: 5 }, rules),
      ],
      [
        'Opened for 30 s: 7 of 10 jobs failed within 60 s',
        'Half-open after 30 s: up to 3 jobs run as probes',
        'Opened again for 60 s: a probe failed',
        'Closed: 3 of 3 probes succeeded',
        '7 of 10 jobs failed within 60 s',
        '5 jobs in a row failed',
      ],
    )
    assert.deepEqual([250, 1500, 60_000, 90_000, 120_000, 600_000].map(duration), ['250 ms', '1.5 s', '60 s', '90 s', '2 min', '10 min'])
  })
})
