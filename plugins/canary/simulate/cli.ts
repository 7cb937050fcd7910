import { setImmediate } from 'node:timers/promises'
import { type Command, defineCommand } from 'zin'
import { policyOf } from '../judge/policy.js'
import { parsePair, parseRate, parseRatio, parseSteps } from './parse.js'
import { independentJobs } from './population.js'
import { Random } from './random.js'
import { type Outcome, type Simulation, simulateOnce } from './run.js'
import { type Ending, type Spread, summarise } from './summary.js'

const score = { type: 'number', min: 0, max: 100 } as const

/** `zin canary:simulate`: simulates the judge on random traffic. */
export const simulateCommand: Command = defineCommand({
  name: 'canary:simulate',
  summary: 'Simulate the rollback rule of canaries on random traffic: probabilities, times and failed jobs',
  needs: 'nothing',
  json: true,
  options: {
    'stable-failure': { type: 'string', summary: 'Share of jobs that fail on the stable version', default: '1%' },
    'canary-failure': { type: 'string', summary: 'Share of jobs that fail on the canary', default: '1%' },
    slow: { type: 'string', summary: 'Share of slow jobs on the stable version and on the canary', default: '5%:5%' },
    rate: { type: 'string', summary: 'Jobs per second (5/s), minute (300/m) or hour', default: '5/s' },
    steps: { type: 'string', summary: 'Share of each step and its duration', default: '5%:10m,10%:10m,25%:10m,50%:10m' },
    baseline: { type: 'int', summary: 'Stable jobs known from before the canary', default: 500, min: 0, max: 1_000_000 },
    'success-threshold': { ...score, summary: 'Health score with which the canary is promoted; default: by statistical confidence' },
    'rollback-threshold': { ...score, default: 50, summary: 'Health score below which the canary is rolled back' },
    runs: { type: 'int', summary: 'Number of canaries to simulate', default: 200, min: 1, max: 10_000 },
    seed: { type: 'int', summary: 'The same seed gives the same result', default: 1 },
  },
  run: async ({ options, print, signal }) => {
    const [stableSlow, canarySlow] = parsePair('slow', options.slow)
    const stable = { failure: parseRatio('stable-failure', options['stable-failure']), slow: stableSlow, lost: 0 }
    const canary = { failure: parseRatio('canary-failure', options['canary-failure']), slow: canarySlow, lost: 0 }
    const simulation: Simulation = {
      steps: parseSteps('steps', options.steps),
      policy: policyOf({ successThreshold: options['success-threshold'], rollbackThreshold: options['rollback-threshold'] }),
      jobsPerSecond: parseRate('rate', options.rate),
      population: independentJobs(stable, canary),
    }
    const outcomes = await print.waiting('the simulation', simulate(simulation, stable.failure, options, signal))
    const summary = summarise(outcomes)
    if (print.json) return print.record(summary)
    print.line(
      `${summary.runs} canaries: ${options['stable-failure']} fail on stable, ${options['canary-failure']} on the canary, ${options.rate}`,
    )
    print.table([
      endingRow('rollback', summary.rollback),
      endingRow('promotion', summary.promotion),
      endingRow('human decision', summary.humanDecision),
    ])
    print.line('Minutes, canary jobs and casualties (canary jobs that failed) are given as median / 90th percentile.')
  },
})

interface Size {
  readonly baseline: number
  readonly runs: number
  readonly seed: number
}

/** Yields to the event loop between runs, so that Ctrl-C works. */
async function simulate(
  simulation: Simulation,
  failure: number,
  { baseline: jobs, runs, seed }: Size,
  signal: AbortSignal,
): Promise<readonly Outcome[]> {
  const random = new Random(seed)
  const outcomes: Outcome[] = []
  while (outcomes.length < runs) {
    const baseline = { jobs, failed: Math.min(jobs, random.poisson(jobs * failure)), lost: 0 }
    outcomes.push(simulateOnce({ ...simulation, baseline }, random))
    await setImmediate()
    signal.throwIfAborted()
  }
  return outcomes
}

function endingRow(ending: string, { chance, minutes, canaryJobs, casualties }: Ending): object {
  return {
    ending,
    chance: `${Number((100 * chance).toFixed(1))} %`,
    minutes: text(minutes),
    'canary jobs': text(canaryJobs),
    casualties: text(casualties),
  }
}

function text(spread: Spread | null): string {
  if (spread === null) return '–'
  const short = (value: number): string => String(value < 10 ? Number(value.toFixed(1)) : Math.round(value))
  return `${short(spread.median)} / ${short(spread.p90)}`
}
