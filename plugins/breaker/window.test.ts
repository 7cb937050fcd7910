import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { breakerOptions } from './options.js'
import type { BreakerRules } from './rules.js'
import { type Evidence, Window } from './window.js'

const rules: BreakerRules = breakerOptions.defaults

/** `+a` completed, `-a` failed, `1000` ms later. */
type Step = `+${string}` | `-${string}` | number

/** What the last failure gave. */
function play(steps: readonly Step[], changes: Partial<BreakerRules> = {}): Evidence | undefined {
  const window = new Window()
  const own = { ...rules, ...changes }
  let now = 5_000
  let last: Evidence | undefined
  for (const step of steps) {
    if (typeof step === 'number') now += step
    else if (step.startsWith('+')) window.complete(step.slice(1), now, own)
    else last = window.fail(step.slice(1), now, own)
  }
  return last
}

const jobs = (sign: '+' | '-', count: number, prefix = sign): readonly Step[] =>
  Array.from({ length: count }, (_, index): Step => `${sign}${prefix}${index}`)
const mixed = (count: number): readonly Step[] =>
  Array.from({ length: count }, (_, index): readonly Step[] => [`+g${index}`, `-b${index}`]).flat()

const table: readonly (readonly [
  title: string,
  steps: readonly Step[],
  expected: Evidence | undefined,
  changes?: Partial<BreakerRules>,
])[] = [
  ['9 jobs of which 5 failed are too few', [...jobs('-', 4), '+z', '-y', ...jobs('+', 3)], undefined],
  ['10 jobs of which 5 failed open it', mixed(5), { rule: 'failure-ratio', jobs: 10, failed: 5, inARow: 1 }],
  ['10 jobs of which 4 failed do not', ['+g', '+h', ...mixed(4)], undefined],
  ['jobs that were attempted 60 s ago do not count', [...mixed(4), 65_000, ...mixed(1)], undefined],
  [
    'completed jobs that were attempted 60 s ago do not count',
    [...jobs('+', 20), 65_000, ...mixed(5)],
    { rule: 'failure-ratio', jobs: 10, failed: 5, inARow: 1 },
  ],
  ['a poison job that fails 5 times does not open it', ['-p', 1000, '-p', 2000, '-p', 4000, '-p', 8000, '-p'], undefined],
  ['a poison job that fails 50 times among 9 good ones does not open it', [...jobs('+', 9), ...Array<Step>(50).fill('-p')], undefined],
  ['5 different jobs in a row open it', jobs('-', 5), { rule: 'consecutive-failures', jobs: 5, failed: 5, inARow: 5 }],
  [
    '5 different jobs in a row open it over several minutes',
    ['-a', 100_000, '-b', 100_000, '-c', 100_000, '-d', 100_000, '-e'],
    { rule: 'consecutive-failures', jobs: 1, failed: 1, inARow: 5 },
  ],
  ['a streak ends after ten minutes without a failure', ['-a', '-b', '-c', '-d', 601_000, '-e'], undefined],
  ['a completed job ends a streak', ['-a', '-b', '-c', '-d', '+x', '-e'], undefined],
  [
    'a job that completes at last has not failed',
    [...jobs('+', 9), ...jobs('-', 4), ...Array.from({ length: 4 }, (_, index): Step => `+-${index}`), ...jobs('-', 4, 'n' as '-')],
    undefined,
  ],
  [
    'the ratio of a worker of its own counts',
    [...jobs('+', 8), '-a', '-b'],
    { rule: 'failure-ratio', jobs: 10, failed: 2, inARow: 2 },
    { failureRatio: 0.2 },
  ],
  [
    'a thousand failed jobs are told apart, and more make the same verdict',
    jobs('-', 1500),
    { rule: 'failure-ratio', jobs: 1000, failed: 1000, inARow: 5 },
  ],
]

describe('the window of a circuit', () => {
  for (const [title, steps, expected, changes] of table)
    it(title, () => {
      assert.deepEqual(play(steps, changes), expected)
    })
})
