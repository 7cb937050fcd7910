import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { moveOf, nextRegionStates, type RegionStates } from './failover.js'
import { topologyProblem } from './topology.js'

const topology = { primary: 'us-east-1', secondaries: ['eu-west-1', 'ap-south-1'] }
const times = { leaveAfterMs: 15, returnAfterMs: 60 }
const all = [topology.primary, ...topology.secondaries]

describe('the topology of regions', () => {
  for (const [primary, secondaries, wrong] of [
    ['us-east-1', ['eu-west-1', 'ap-south-1'], undefined],
    ['us-east-1', ['us-east-1'], /primary region "us-east-1" must not be one of the secondaries/],
    ['us-east-1', ['eu-west-1', 'eu-west-1'], /"eu-west-1" must be listed only once/],
  ] as const) {
    it(`${primary} with ${secondaries.join(', ')} is ${wrong === undefined ? 'valid' : 'refused'}`, () => {
      const found = topologyProblem({ primary, secondaries })
      if (wrong === undefined) assert.equal(found, undefined)
      else assert.match(found ?? '', wrong)
    })
  }
})

/** Where a worker is placed while its regions come and go; each step is 10 ms. */
function run(steps: readonly (readonly string[])[], from = 'us-east-1'): readonly string[] {
  let states: RegionStates = new Map()
  let current = from
  return steps.map((up, index) => {
    const at = index * 10
    states = nextRegionStates(states, all, new Set(up), at)
    current = moveOf(topology, current, states, at, times)?.to ?? current
    return current
  })
}
const times10 = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value)
const [us, eu, ap] = ['us-east-1', 'eu-west-1', 'ap-south-1']

describe('failover', () => {
  const cases: readonly (readonly [title: string, steps: readonly (readonly string[])[], places: readonly string[]])[] = [
    ['does not leave a region that is up', times10(4, all), times10(4, us)],
    ['leaves a region that was lost for long enough', [all, [eu, ap], [eu, ap], [eu, ap], [eu, ap]], [us, us, us, eu, eu]],
    ['does not leave for a brief outage', [all, [eu, ap], all, [eu, ap], all], times10(5, us)],
    ['stays when no region is up', [all, [], [], [], []], times10(5, us)],
    ['goes to the first secondary that is up', [all, [ap], [ap], [ap]], [us, us, us, ap]],
    ['moves on when the secondary is lost as well', [[eu, ap], [eu, ap], [eu, ap], [ap], [ap], [ap]], [us, us, eu, eu, eu, ap]],
    [
      'returns when the region has been back for long enough',
      [[eu], [eu], [eu], ...times10(8, [us, eu])],
      [us, us, ...times10(7, eu), us, us],
    ],
    [
      'does not return to a region that comes and goes',
      [[eu], [eu], [eu], ...times10(4, [us, eu]), [eu], ...times10(5, [us, eu])],
      [us, us, ...times10(11, eu)],
    ],
  ]
  for (const [title, steps, places] of cases) it(title, () => assert.deepEqual(run(steps), places))

  it('moves a worker that is placed elsewhere into its topology', () => {
    assert.deepEqual(run([[eu]], 'sa-east-1'), [eu])
  })
})
