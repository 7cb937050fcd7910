import type { Outcome } from './run.js'

/** Median and 90th percentile of observed values. */
export interface Spread {
  readonly median: number
  /** 90th percentile. */
  readonly p90: number
}

/** Probability of an ending, 0 to 1, and its costs; these are null if no run ended this way. */
export interface Ending {
  readonly chance: number
  readonly minutes: Spread | null
  /** First attempts of the canary. */
  readonly canaryJobs: Spread | null
  /** First attempts of the canary that failed or were lost. */
  readonly casualties: Spread | null
}

/** Results of all simulated canaries. */
export interface Summary {
  readonly runs: number
  readonly rollback: Ending
  readonly promotion: Ending
  /** Paused because the steps ended without a clear result, or the share was off. */
  readonly humanDecision: Ending
}

export function summarise(outcomes: readonly Outcome[]): Summary {
  return {
    runs: outcomes.length,
    rollback: ending(outcomes, 'rollback'),
    promotion: ending(outcomes, 'promote'),
    humanDecision: ending(outcomes, 'pause'),
  }
}

function ending(outcomes: readonly Outcome[], move: Outcome['move']): Ending {
  const ended = outcomes.filter((outcome) => outcome.move === move)
  return {
    chance: ended.length / outcomes.length,
    minutes: spread(ended.map(({ ms }) => ms / 60_000)),
    canaryJobs: spread(ended.map(({ canaryJobs }) => canaryJobs)),
    casualties: spread(ended.map(({ casualties }) => casualties)),
  }
}

function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] as number
  return { median: at(0.5), p90: at(0.9) }
}
