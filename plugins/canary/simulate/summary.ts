import type { Outcome } from './run.js'

/** Middle and high value of what was seen. */
export interface Spread {
  readonly median: number
  /** Nine of ten runs had at most this. */
  readonly p90: number
}

/** How often canaries ended in a way, 0 to 1, and what it took; null when none did. */
export interface Ending {
  readonly chance: number
  readonly minutes: Spread | null
  /** First attempts of the canary. */
  readonly canaryJobs: Spread | null
  /** First attempts of the canary that failed or were lost. */
  readonly casualties: Spread | null
}

/** What became of all simulated canaries. */
export interface Summary {
  readonly runs: number
  readonly rollback: Ending
  readonly promotion: Ending
  /** It was paused, because its steps were over without a clear result, or its share was off. */
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
