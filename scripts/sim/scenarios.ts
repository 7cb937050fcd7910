import { policyOf } from '../../plugins/canary/judge/policy.js'
import { independentJobs, type Population, type Rates } from '../../plugins/canary/simulate/population.js'
import type { Random } from '../../plugins/canary/simulate/random.js'
import { type Outcome, simulateOnce } from '../../plugins/canary/simulate/run.js'
import { naiveRules } from './naive.js'
import { type TenantModel, tenantJobs } from './tenants.js'

/** Versions and traffic. The steps are 5, 10, 25 and 50 percent. */
export interface Scenario {
  readonly name: string
  readonly jobsPerSecond: number
  readonly minutesPerStep: number
  readonly stable: Rates
  readonly canary: Rates
  readonly tenants?: TenantModel
}

const rates = (failure: number, slow = 0.05): Rates => ({ failure, slow, lost: 0 })

const pairs: readonly (readonly [string, Rates, Rates])[] = [
  ['no difference, 1 % fail', rates(0.01), rates(0.01)],
  ['no difference, 5 % fail', rates(0.05), rates(0.05)],
  ['1 % → 100 % fail', rates(0.01), rates(1)],
  ['1 % → 10 % fail', rates(0.01), rates(0.1)],
  ['5 % → 10 % fail', rates(0.05), rates(0.1)],
  ['5 % → 20 % slow', rates(0.01), rates(0.01, 0.2)],
]

const tenantModels: readonly (readonly [string, TenantModel])[] = [
  ['no difference, 5 % fail, 300 tenants, ICC 0.02', { tenants: 300, correlation: 0.02, ratio: 1 }],
  ['no difference, 5 % fail, 300 tenants, ICC 0.2', { tenants: 300, correlation: 0.2, ratio: 1 }],
  ['5 % → 15 % fail, 300 tenants, ICC 0.05', { tenants: 300, correlation: 0.05, ratio: 3 }],
]

export const scenarios: readonly Scenario[] = [
  ...pairs.flatMap(([name, stable, canary]) =>
    [0.5, 5, 50].map((jobsPerSecond) => ({ name, jobsPerSecond, minutesPerStep: jobsPerSecond === 50 ? 2 : 10, stable, canary })),
  ),
  ...tenantModels.map(([name, tenants]) => {
    const [stable, canary] = [rates(0.05), rates(0.05)]
    return { name, jobsPerSecond: 5, minutesPerStep: 10, stable, canary, tenants }
  }),
]

/** The outcome of one canary, and which naive rules would have rolled it back. */
export interface Result {
  readonly outcome: Outcome
  readonly naive: Readonly<Record<keyof typeof naiveRules, boolean>>
}

/** The number of jobs of the stable version that are known before each canary. */
const baselineJobs = 500

export function runScenario(scenario: Scenario, random: Random): Result {
  const naive = { threshold: false, zTest: false }
  const { stable, jobsPerSecond, minutesPerStep } = scenario
  const simulation = {
    steps: [0.05, 0.1, 0.25, 0.5].map((share) => ({ share, minDurationMs: minutesPerStep * 60_000 })),
    policy: policyOf(),
    jobsPerSecond,
    population: populationOf(scenario, random),
    baseline: { jobs: baselineJobs, failed: random.poisson(baselineJobs * stable.failure), lost: 0 },
  }
  const outcome = simulateOnce(simulation, random, (evidence) => {
    naive.threshold ||= naiveRules.threshold(evidence)
    naive.zTest ||= naiveRules.zTest(evidence)
  })
  return { outcome, naive }
}

function populationOf({ stable, canary, tenants }: Scenario, random: Random): Population {
  return tenants === undefined ? independentJobs(stable, canary) : tenantJobs(tenants, stable, random)
}
