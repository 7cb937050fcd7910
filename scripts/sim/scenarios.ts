import { policyOf } from '../../plugins/canary/judge/policy.js'
import type { Baseline } from '../../plugins/canary/judge/types.js'
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
  readonly successThreshold?: number
  /** The stable version as it was until a minute before the canary. Default: as during it. */
  readonly before?: Rates
  /** Stable jobs from before that minute. Default 500. */
  readonly history?: number
  /** Instead, both versions are as before until so many minutes of the canary are over. */
  readonly laterMinutes?: number
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

const bySuccessThreshold: readonly (readonly [string, Rates, Rates])[] = [
  ['no difference, 1 % fail, successThreshold 50', rates(0.01), rates(0.01)],
  ['1 % → 10 % fail, successThreshold 50', rates(0.01), rates(0.1)],
]

/** Both versions fail because of something else, since a minute before the canary. */
const outages: readonly (readonly [string, Rates, Rates])[] = [
  ['outage: 100 % of both fail, 1 % before', rates(1), rates(1)],
  ['outage: 50 % of both fail, 1 % before', rates(0.5), rates(0.5)],
]

/** Outages that a worker with little history sees, or that begin during the canary. */
const youngOutages: readonly (readonly [string, number, Partial<Scenario>])[] = [
  ['outage: 100 % of both fail, no job before', 1, { history: 0 }],
  ['outage: 100 % of both fail, 20 jobs before', 1, { history: 20 }],
  ['outage: 100 % of both fail, from minute 3 of the canary', 1, { laterMinutes: 3 }],
  ['outage: 100 % of both fail, from minute 3 of the canary, 20 jobs before', 1, { laterMinutes: 3, history: 20 }],
  ['outage: 50 % of both fail, from minute 3 of the canary, 20 jobs before', 0.5, { laterMinutes: 3, history: 20 }],
]

const speeds = [0.5, 5, 50]
const minutesAt = (jobsPerSecond: number): number => (jobsPerSecond === 50 ? 2 : 10)

export const scenarios: readonly Scenario[] = [
  ...pairs.flatMap(([name, stable, canary]) =>
    speeds.map((jobsPerSecond) => ({ name, jobsPerSecond, minutesPerStep: minutesAt(jobsPerSecond), stable, canary })),
  ),
  ...tenantModels.map(([name, tenants]) => {
    const [stable, canary] = [rates(0.05), rates(0.05)]
    return { name, jobsPerSecond: 5, minutesPerStep: 10, stable, canary, tenants }
  }),
  ...bySuccessThreshold.flatMap(([name, stable, canary]) =>
    speeds.map((jobsPerSecond) => {
      return { name, jobsPerSecond, minutesPerStep: minutesAt(jobsPerSecond), stable, canary, successThreshold: 50 }
    }),
  ),
  ...outages.flatMap(([name, stable, canary]) =>
    speeds.map((jobsPerSecond) => {
      return { name, jobsPerSecond, minutesPerStep: minutesAt(jobsPerSecond), stable, canary, before: rates(0.01) }
    }),
  ),
  ...youngOutages.flatMap(([name, failure, more]) =>
    speeds.map((jobsPerSecond) => {
      const [stable, canary] = [rates(failure), rates(failure)]
      return { name, jobsPerSecond, minutesPerStep: minutesAt(jobsPerSecond), stable, canary, before: rates(0.01), ...more }
    }),
  ),
]

/** The outcome of one canary, and which naive rules would have rolled it back. */
export interface Result {
  readonly outcome: Outcome
  readonly naive: Readonly<Record<keyof typeof naiveRules, boolean>>
}

/** The number of jobs of the stable version that are known before each canary. */
const usualHistory = 500

export function runScenario(scenario: Scenario, random: Random): Result {
  const naive = { threshold: false, zTest: false }
  const { before, history = usualHistory, jobsPerSecond, laterMinutes, minutesPerStep, stable, successThreshold } = scenario
  const population = populationOf(scenario, random)
  const usual = baselineOf(history, (before ?? stable).failure, random)
  const recentRate = laterMinutes === undefined ? stable : (before ?? stable)
  const recent = before === undefined ? undefined : baselineOf(jobsPerSecond * 60, recentRate.failure, random)
  const later = laterMinutes === undefined || before === undefined ? undefined : { fromMs: laterMinutes * 60_000, population }
  const simulation = {
    steps: [0.05, 0.1, 0.25, 0.5].map((share) => ({ share, minDurationMs: minutesPerStep * 60_000 })),
    policy: policyOf({ successThreshold }),
    jobsPerSecond,
    population: later === undefined || before === undefined ? population : independentJobs(before, before),
    ...(later === undefined ? {} : { later }),
    baseline: recent === undefined ? usual : { jobs: usual.jobs + recent.jobs, failed: usual.failed + recent.failed, lost: 0 },
    ...(recent === undefined ? {} : { recent }),
  }
  const outcome = simulateOnce(simulation, random, (evidence) => {
    naive.threshold ||= naiveRules.threshold(evidence)
    naive.zTest ||= naiveRules.zTest(evidence)
  })
  return { outcome, naive }
}

function baselineOf(jobs: number, failure: number, random: Random): Baseline {
  return { jobs, failed: failure === 1 ? jobs : Math.min(jobs, random.poisson(jobs * failure)), lost: 0 }
}

function populationOf({ stable, canary, tenants }: Scenario, random: Random): Population {
  return tenants === undefined ? independentJobs(stable, canary) : tenantJobs(tenants, stable, random)
}
