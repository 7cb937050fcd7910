/** When a circuit opens, and for how long. */
export interface BreakerRules {
  /** Time over which jobs are counted, in ms. */
  readonly windowMs: number
  /** Jobs in the window from which on the ratio counts. */
  readonly minimumJobs: number
  /** Share of failed jobs in the window that opens the circuit, above 0 and up to 1. */
  readonly failureRatio: number
  /** Different jobs that fail in a row, with none completed in between, that open the circuit. */
  readonly consecutiveFailures: number
  /** How long the circuit is open the first time, in ms; doubles each time that a probe fails. */
  readonly openMs: number
  /** The longest that it is open, in ms. */
  readonly maxOpenMs: number
  /** Jobs that run while it is half-open; all have to succeed. */
  readonly probes: number
  /** One circuit for each name of jobs, not one for the worker. */
  readonly perJobName: boolean
}

/** What of the rules a worker's record sets. */
export type OwnRules = { readonly [Key in keyof BreakerRules]?: BreakerRules[Key] | undefined }

/** Those of the plugin's options, and those of the worker instead where it has them. */
export function rulesOf(defaults: BreakerRules, own: OwnRules = {}): BreakerRules {
  const given = Object.entries(own).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) }
}

/** How long a circuit is open the nth time in a row, from 1, in ms. */
export function openFor({ openMs, maxOpenMs }: BreakerRules, openings: number): number {
  return Math.min(openMs * 2 ** (openings - 1), Math.max(openMs, maxOpenMs))
}
