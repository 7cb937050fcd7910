/** When a circuit opens, and for how long. */
export interface BreakerRules {
  /** Time over which jobs are counted, in ms. */
  readonly windowMs: number
  /** Minimum number of jobs in the window for the ratio to apply. */
  readonly minimumJobs: number
  /** Share of failed jobs in the window that opens the circuit, above 0 and up to 1. */
  readonly failureRatio: number
  /** Number of different jobs that fail in a row, with none completed in between, before the circuit opens. */
  readonly consecutiveFailures: number
  /** How long the circuit is open the first time, in ms; doubles each time a probe fails. */
  readonly openMs: number
  /** Maximum time that the circuit is open, in ms. */
  readonly maxOpenMs: number
  /** Jobs that run as probes while the circuit is half-open; all must succeed. */
  readonly probes: number
  /** Whether each job name has its own circuit. */
  readonly perJobName: boolean
}

/** Rules that the record of a worker overrides. */
export type OwnRules = { readonly [Key in keyof BreakerRules]?: BreakerRules[Key] | undefined }

/** Returns the plugin's rules with the overrides of the worker. */
export function rulesOf(defaults: BreakerRules, own: OwnRules = {}): BreakerRules {
  const given = Object.entries(own).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) }
}

/** Returns how long a circuit is open the nth consecutive time, from 1, in ms. */
export function openFor({ openMs, maxOpenMs }: BreakerRules, openings: number): number {
  return Math.min(openMs * 2 ** (openings - 1), Math.max(openMs, maxOpenMs))
}
