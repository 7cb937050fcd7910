// Runs the rule that judges canaries on random traffic, and prints how often it is right, compared with naive rules. Exits with 1 if a target
// is missed.
//   npm run sim:canary                    1,000 runs per scenario
//   npm run sim:canary -- 100             fewer runs
//   npm run sim:canary -- 1000 '1 % →'    only scenarios whose name contains the text
import { Random } from '../../plugins/canary/simulate/random.js'
import { summarise } from '../../plugins/canary/simulate/summary.js'
import { type Result, runScenario, type Scenario, scenarios } from './scenarios.js'
import { targetsMissed } from './targets.js'

const [runs = '1000', part = ''] = process.argv.slice(2)
const percent = (ratio: number): string => `${Number((100 * ratio).toFixed(1))} %`
const rounded = (value: number | undefined): string => (value === undefined ? '–' : String(Number(value.toPrecision(2))))

function row({ name, jobsPerSecond }: Scenario, results: readonly Result[]): string {
  const { rollback, promotion, humanDecision } = summarise(results.map(({ outcome }) => outcome))
  const naive = (rule: keyof Result['naive']): string => percent(results.filter((result) => result.naive[rule]).length / results.length)
  const cells = [
    name,
    jobsPerSecond,
    percent(rollback.chance),
    percent(promotion.chance),
    percent(humanDecision.chance),
    rollback.canaryJobs === null ? '–' : `${rollback.canaryJobs.median} / ${rollback.canaryJobs.p90}`,
    rounded(rollback.minutes?.median),
    name.startsWith('no difference') ? `${naive('threshold')} / ${naive('zTest')}` : '',
  ]
  return `| ${cells.join(' | ')} |`
}

console.log(
  '| Stable → canary | Jobs/s | Rolled back | Promoted | Human | Canary jobs, median / p90 | Minutes | Naive threshold / z-test |',
)
console.log('|---|---|---|---|---|---|---|---|')
const missed: string[] = []
for (const scenario of scenarios.filter(({ name }) => name.includes(part))) {
  const random = new Random(2026)
  const results = Array.from({ length: Number(runs) }, () => runScenario(scenario, random))
  console.log(row(scenario, results))
  missed.push(...targetsMissed(scenario, results))
}
for (const problem of missed) console.error(problem)
process.exitCode = missed.length > 0 ? 1 : 0
