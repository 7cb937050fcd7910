/** The version that has been in use, and the one on trial. */
export type Arm = 'stable' | 'canary'

/** Metrics by which the versions are compared: first attempts that failed, were slow, or were lost. */
export type Metric = 'fail' | 'slow' | 'lost'

/**
 * Counts of one cell, in this order: jobs, failed, slow, slow jobs, lost. `slow jobs` are those whose duration counted, which excludes
 * the first ones after a process loaded the version. Jobs include those that failed or were lost.
 */
export type Counts = [jobs: number, failed: number, slow: number, slowJobs: number, lost: number]

/**
 * Counts of a canary per step, arm, stratum and sticky bucket. Plain JSON; absent cells and buckets are zero. Cells are keyed
 * `<step>/<arm>/<stratum>`, and their counts by bucket, `0` to `63`. Evidence of several processes can be added up in any order
 * ({@link mergeEvidence}).
 */
export interface Evidence {
  cells: Record<string, Record<string, Counts>>
  /** The latest attempts of each version, oldest first. Absent in evidence of processes with an earlier version of Zin. */
  latest?: Record<Arm, Latest[]>
  /** Errors of all failed attempts, retries included. They explain a verdict, and do not count for it. */
  errors?: ErrorCounts
}

/** When an attempt ended, in ms since 1970, and how: 0 completed, 1 failed, 2 lost. */
export type Latest = readonly [at: number, outcome: 0 | 1 | 2]

/** An error of one version. */
export interface ErrorCount {
  /** Name of the error class. */
  readonly class: string
  /** Without numbers, ids and quoted values. */
  readonly message: string
  /** Failed attempts, retries included. */
  count: number
  /** Id of a job that failed with it. */
  readonly example: string
}

export type ErrorCounts = Record<Arm, ErrorCount[]>

/** A first attempt that ended. Retries, and attempts in a process that cannot run both versions, are not evidence. */
export interface FirstAttempt {
  /** Index of the step in which the version was chosen. */
  readonly step: number
  readonly arm: Arm
  /** See {@link stratumOf}. */
  readonly stratum: string
  /** Sticky bucket of the job, 0 to 63, see {@link routeOf}. */
  readonly bucket: number
  readonly outcome: 'ok' | 'failed' | 'lost'
  /** When it ended, in ms since 1970. Without it, it counts in the sums only. */
  readonly at?: number | undefined
  /** Whether it took longer than the threshold; undefined if its duration does not count (warm-up, no threshold). */
  readonly slow?: boolean | undefined
}

/** Jobs of the stable version before the canary began, and how many of them failed and were lost. */
export interface Baseline {
  readonly jobs: number
  readonly failed: number
  readonly lost: number
}

/** Parameters of one metric. Rates and differences are ratios: 0.01 is one percentage point. */
export interface MetricPolicy {
  /** Tolerated difference: the larger of `absolute` and `relative` times the stable rate. */
  readonly tolerance: { readonly absolute: number; readonly relative: number }
  /** Probability of a wrong FAIL, and of a wrong PASS, of the sequential test over the whole canary. */
  readonly alpha: number
  /** Probability of a wrong FAIL of the fast path. Undefined if the metric has no fast path. */
  readonly fastAlpha?: number
}

/** Parameters of the judge, see {@link policyOf}. */
export interface Policy {
  readonly metrics: Readonly<Record<Metric, MetricPolicy>>
  /** Health score, 0 to 100, below which a significantly worse canary fails. */
  readonly rollbackThreshold: number
  /** Health score, 0 to 100, from which the canary passes. Undefined: it passes by the sequential test. */
  readonly successThreshold?: number | undefined
  /** Minimum canary jobs for the sequential test. The fast path has no minimum. */
  readonly minJobs: number
  /** Probability of a wrong SAMPLE_RATIO over the whole canary. */
  readonly sampleRatioAlpha: number
}

/** The sums when an operator resumed a canary, and when that was, in ms since 1970. */
export type Excused = Judgement['counts'] & { readonly at?: number }

/** Input of the judge besides the evidence. */
export interface JudgeContext {
  /** Share of the canary by step index, 0 to 1. */
  readonly shares: readonly number[]
  /** Jobs before the canary. With at least 200, the fast path is effective from the first canary job. */
  readonly baseline?: Baseline
  /** Of these, those of the minutes just before the canary. They count until stable jobs have ended in the same step. */
  readonly recent?: Baseline
  /** First attempts from before an operator resumed a canary that was paused for an outage; they are no sign of a further one. */
  readonly excused?: Excused
  /** Current first attempts of the canary per minute, used for `needs.minutes`. */
  readonly canaryJobsPerMinute?: number
}

/**
 * - `FAIL`: significantly worse, by more than the tolerance. Roll back.
 * - `PASS`: with statistical confidence not worse by more than the tolerance, or, with a `successThreshold`, at least as healthy. May be
 *   promoted after its last step.
 * - `SAMPLE_RATIO`: the canary did not get its share of the jobs, so the comparison cannot be trusted. Pause.
 * - `OUTAGE`: stable fails as much, so nothing can be said about the version. Pause.
 * - `CONTINUE`: not enough evidence yet.
 */
export const verdicts = ['FAIL', 'PASS', 'CONTINUE', 'SAMPLE_RATIO', 'OUTAGE'] as const
export type Verdict = (typeof verdicts)[number]

/** The part of the rule that produced the verdict. */
export type Rule =
  | 'canary/fast-path'
  | 'canary/sequential'
  | 'canary/sample-ratio'
  | 'canary/no-data'
  | 'canary/outage'
  | 'canary/failing'
  | 'canary/success-threshold'

/** The rate of one arm: `bad` of `jobs`. `rate` is 0 without jobs. */
export interface ArmRate {
  readonly jobs: number
  readonly bad: number
  readonly rate: number
}

/** The result for one metric. Values are null if not enough is known. */
export interface MetricReport {
  readonly verdict: 'FAIL' | 'PASS' | 'CONTINUE'
  readonly stable: ArmRate
  readonly canary: ArmRate
  /** Rate of the canary minus that of stable, within steps and strata; above 0, the canary is worse. */
  readonly difference: number | null
  /** Half-width of the confidence interval around `difference`, valid at every evaluation. */
  readonly halfWidth: number | null
  /** Tolerated difference. */
  readonly tolerance: number
  /** 100 when the canary is not worse, 50 when it is worse by the tolerance, 0 from twice the tolerance on. */
  readonly score: number
}

/** The result of the judge. Plain JSON. */
export interface Judgement {
  readonly verdict: Verdict
  readonly rule: Rule
  /** The metric that decided, or that prevents a PASS; null for the sample ratio and without data. */
  readonly metric: Metric | null
  /** The reason with its numbers, as one sentence. */
  readonly reason: string
  /** Lowest score of the metrics, 0 to 100. */
  readonly health: number
  readonly metrics: Readonly<Record<Metric, MetricReport>>
  /**
   * Estimated first attempts of the canary and minutes until a verdict, if nothing changes. Both are 0 with a verdict and null if unknown.
   */
  readonly needs: { readonly jobs: number | null; readonly minutes: number | null }
  /** Sums over the steps. */
  readonly counts: Readonly<Record<Arm, { readonly jobs: number; readonly failed: number; readonly slow: number; readonly lost: number }>>
  /** The most frequent errors of each version. Absent in judgements that an earlier version of Zin stored. */
  readonly errors?: Readonly<Record<Arm, readonly ErrorCount[]>>
}

/** One step of a canary. */
export interface Step {
  /** Share of the jobs, above 0 and at most 1. */
  readonly share: number
  /** Minimum duration in ms. */
  readonly minDurationMs: number
  /** First attempts of the canary that must end in the step. Default {@link minJobsPerStep}. */
  readonly minJobs?: number
}

/** The progress of a canary, for {@link nextMove}. */
export interface Progress {
  readonly steps: readonly Step[]
  /** Index of the current step. */
  readonly step: number
  /** Time in this step, without pauses, in ms. */
  readonly stepMs: number
  /** Time since the canary started running, without pauses, in ms. */
  readonly totalMs: number
  /** First attempts of the canary that ended in this step. */
  readonly stepJobs: number
  /** Whether too few of them have ended in all steps for a verdict. */
  readonly lacksJobs?: boolean
  /** Whether most of its latest jobs are bad, so that it must not get more. */
  readonly isFailing?: boolean
}

/**
 * The next move of a running canary: stay in the step, advance to the next one, roll back, promote (the last step has ended and the verdict
 * is PASS), or pause for a person to decide.
 */
export type Move = 'stay' | 'advance' | 'rollback' | 'promote' | 'pause'
