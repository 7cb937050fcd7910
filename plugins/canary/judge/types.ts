/** The version that has been in use, and the one on trial. */
export type Arm = 'stable' | 'canary'

/** What the versions are compared by: first attempts that failed, that were slow, and that were lost. */
export type Metric = 'fail' | 'slow' | 'lost'

/**
 * Counts of one cell, in this order: jobs, failed, slow, slow jobs, lost. `slow jobs` are those whose duration counted: not the first
 * ones after a process loaded the version. Jobs include those that failed or were lost.
 */
export type Counts = [jobs: number, failed: number, slow: number, slowJobs: number, lost: number]

/**
 * What was seen of a canary: counts per step, arm, stratum and sticky bucket. It is plain JSON; absent cells and buckets are zero.
 * Cells are keyed `<step>/<arm>/<stratum>`, their counts by the bucket, `0` to `63`. Adding up evidence of several processes, in any
 * order, gives the evidence of all ({@link mergeEvidence}); what a process has not yet flushed is evidence, too.
 */
export interface Evidence {
  cells: Record<string, Record<string, Counts>>
}

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
  /** Whether it took longer than the threshold of its job name; undefined when its duration does not count (warm-up, no threshold). */
  readonly slow?: boolean | undefined
}

/** Jobs of the stable version before the canary began, and how many of them failed and were lost. */
export interface Baseline {
  readonly jobs: number
  readonly failed: number
  readonly lost: number
}

/** How one metric decides. Rates and differences are ratios: 0.01 is one percentage point. */
export interface MetricPolicy {
  /** A difference below it does not matter: the larger of `absolute` and `relative` times the stable rate. */
  readonly tolerance: { readonly absolute: number; readonly relative: number }
  /** Chance of a wrong FAIL, and of a wrong PASS, of the sequential test over the whole canary. */
  readonly alpha: number
  /** Chance of a wrong FAIL of the fast path. Undefined: the metric has none. */
  readonly fastAlpha?: number
}

/** How the judge decides, see {@link policyOf}. */
export interface Policy {
  readonly metrics: Readonly<Record<Metric, MetricPolicy>>
  /** Health score, 0 to 100, below which a significantly worse canary fails. */
  readonly rollbackThreshold: number
  /** Health score, 0 to 100, above which the canary has to be with certainty in order to pass. */
  readonly successThreshold: number
  /** Jobs of the canary before the sequential test decides. The fast path needs none. */
  readonly minJobs: number
  /** Chance of a wrong SAMPLE_RATIO over the whole canary. */
  readonly sampleRatioAlpha: number
}

/** What the judge knows beside the evidence. */
export interface JudgeContext {
  /** Share of the jobs that each step gives to the canary, 0 to 1, by the index of the step. */
  readonly shares: readonly number[]
  /** Jobs before the canary. At least 200 of them make the fast path sharp from its first job. */
  readonly baseline?: Baseline
  /** First attempts of the canary per minute now; gives `needs.minutes`. */
  readonly canaryJobsPerMinute?: number
}

/**
 * - `FAIL`: with certainty worse, and by more than is tolerated. Roll back.
 * - `PASS`: with certainty not worse by more than is tolerated. May be promoted when its last step is over.
 * - `SAMPLE_RATIO`: the canary did not get its share of the jobs, so that nothing else can be trusted. Pause.
 * - `CONTINUE`: not yet known.
 */
export type Verdict = 'FAIL' | 'PASS' | 'CONTINUE' | 'SAMPLE_RATIO'

/** Which part of the rule gave the verdict. */
export type Rule = 'canary/fast-path' | 'canary/sequential' | 'canary/sample-ratio' | 'canary/no-data'

/** A rate of one arm: `bad` of `jobs`. `rate` is 0 without jobs. */
export interface ArmRate {
  readonly jobs: number
  readonly bad: number
  readonly rate: number
}

/** One metric as the judge saw it. Null: not enough is known. */
export interface MetricReport {
  readonly verdict: 'FAIL' | 'PASS' | 'CONTINUE'
  readonly stable: ArmRate
  readonly canary: ArmRate
  /** Rate of the canary less that of stable, within steps and strata; above 0 it is worse. */
  readonly difference: number | null
  /** The true difference is within this of `difference`, however often it was looked at. */
  readonly halfWidth: number | null
  /** Differences below it do not matter. */
  readonly tolerance: number
  /** 100 when the canary is not worse, 50 when it is worse by the tolerance, 0 from twice the tolerance on. */
  readonly score: number
}

/** What the judge says. It is plain JSON. */
export interface Judgement {
  readonly verdict: Verdict
  readonly rule: Rule
  /** The metric that decided, or that keeps it from passing; null for the sample ratio and without data. */
  readonly metric: Metric | null
  /** One sentence with its numbers. */
  readonly reason: string
  /** Lowest score of the metrics, 0 to 100. */
  readonly health: number
  readonly metrics: Readonly<Record<Metric, MetricReport>>
  /**
   * First attempts of the canary still to go for a verdict when things go on as they are, and the minutes until then. Both are 0 with a
   * verdict and null when unknown.
   */
  readonly needs: { readonly jobs: number | null; readonly minutes: number | null }
  /** Sums over the steps. */
  readonly counts: Readonly<Record<Arm, { readonly jobs: number; readonly failed: number; readonly slow: number; readonly lost: number }>>
}

/** One step of a canary. */
export interface Step {
  /** Share of the jobs, above 0 and at most 1. */
  readonly share: number
  /** How long it lasts at least, in ms. */
  readonly minDurationMs: number
  /** First attempts of the canary that have to end in it. Default {@link minJobsPerStep}. */
  readonly minJobs?: number
}

/** Where a canary stands, for {@link nextMove}. */
export interface Progress {
  readonly steps: readonly Step[]
  /** Index of the current step. */
  readonly step: number
  /** Time in this step, without pauses, in ms. */
  readonly stepMs: number
  /** Time since the canary began to run, without pauses, in ms. */
  readonly totalMs: number
  /** First attempts of the canary that ended in this step. */
  readonly stepJobs: number
}

/**
 * What a verdict means for a running canary: stay in the step, go to the next one, roll back, promote (the last step is over and the
 * verdict is PASS), or let a human decide (`pause`).
 */
export type Move = 'stay' | 'advance' | 'rollback' | 'promote' | 'pause'
