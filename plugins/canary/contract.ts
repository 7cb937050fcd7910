import { defineService } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { OperationResult } from 'zin/plugins/workers'
import type { Judgement, Verdict } from './judge/index.js'
import type { CanaryState, PauseReason } from './record.js'

/** A request to start a canary. Only `newVersion`, `duration`, and `trafficPercentage` or `steps` are required. */
export interface StartCanary {
  /** A registered version that is not the active one. */
  readonly newVersion: string
  /** Maximum share of the jobs that the new version gets, above 0 and at most 100. Default: the share of the last step. */
  readonly trafficPercentage?: number
  /** Total duration of all steps in ms, up to 30 days. */
  readonly duration: number
  /** If false, the canary is never rolled back automatically: a failing one is paused until a person decides. Default true. */
  readonly autoRollback?: boolean
  /**
   * Health score, 0–100: at the end of `duration`, the canary is promoted if its health is at least this, no metric fails, and at least 50 of
   * its jobs have ended. Default: it is promoted if it is not worse with statistical confidence.
   */
  readonly successThreshold?: number
  /** Health score, 0–100, below which a significantly worse canary fails. Default 50. */
  readonly rollbackThreshold?: number
  /** Ascending shares in percent, at most 20. Default: those of 1, 5, 10, 25 and 50 below `trafficPercentage`, then `trafficPercentage`. */
  readonly steps?: readonly (number | CanaryStepSpec)[]
  /** What happens to running jobs at a rollback: they finish (`drain`, default), or are requeued without using up an attempt (`abort`). */
  readonly inFlight?: 'drain' | 'abort'
  /** If true, a failed attempt on the new version is not used up, and the job is requeued to run on the stable one. Default false. */
  readonly shield?: boolean
  /** Path in the job data, such as `tenant.id`: jobs with equal values go to the same version. Default: flow, deduplication id or job id. */
  readonly stickyBy?: string
  /** How long the processes may take to load the version, in ms. Default 60000. */
  readonly startTimeout?: number
  /** How long the canary may be paused before it is rolled back, in ms, unless `autoRollback` is false. The version is not refused. Default 86400000 (one day). */
  readonly pauseTimeout?: number
  /** If false, the canary is paused instead of promoted. Default true. */
  readonly autoComplete?: boolean
  /** If true, jobs that failed permanently on the new version are added to the queue again after a rollback. Default false. */
  readonly autoReplay?: boolean
  /** Starts the canary even if the version was refused before. Default false. */
  readonly force?: boolean
}

/** One step of a canary. */
export interface CanaryStepSpec {
  /** Share of the jobs, above 0 and at most 100. */
  readonly trafficPercentage: number
  /** In ms. Default: an equal part of the canary's duration. */
  readonly duration?: number
  /** First attempts on the new version that must end in this step, 1–1,000,000. */
  readonly minJobs?: number
  /** If true, the canary is paused at the end of the step until it is resumed. Default false. */
  readonly gate?: boolean
}

/** One transition. */
export interface CanaryEvent {
  /** ISO 8601. */
  readonly at: string
  /** Null for the start. */
  readonly from: CanaryState | null
  /** Equal to `from` if only the step changed. */
  readonly to: CanaryState
  readonly actor: Actor
  readonly reason: string
  /** The most frequent errors of the new version until then; only of the last event that has an evaluation. */
  readonly errors?: readonly CanaryError[]
}

/** An error of a version: the attempts that failed with the same class and message, retries included. */
export interface CanaryError {
  /** Name of the error class. */
  readonly class: string
  /** First line, without numbers, ids, addresses and quoted values; `[redacted]` for callers without `payload:read`. */
  readonly message: string
  readonly count: number
  /** Id of a job that failed with it. */
  readonly example: string
}

/** First attempts on one version of a canary. */
export interface ArmView {
  readonly version: string
  readonly jobs: number
  readonly failed: number
  readonly slow: number
  readonly lost: number
  /** The most frequent errors, at most five. Retries count too, also those of jobs that succeeded later. */
  readonly errors: readonly CanaryError[]
}

/** A canary as the API shows it. */
export interface CanaryView {
  readonly id: string
  readonly worker: string
  readonly state: CanaryState
  /** While it is paused. */
  readonly pausedFor?: PauseReason
  /** 0–100; at 50, the canary is worse than stable by exactly the tolerance. */
  readonly health: number
  /** Current share of the jobs that the new version gets, in percent; 0 before and after the canary. */
  readonly trafficPercentage: number
  /** From 1. */
  readonly step: number
  readonly steps: readonly (Required<Pick<CanaryStepSpec, 'trafficPercentage' | 'duration'>> & CanaryStepSpec)[]
  readonly stable: ArmView
  readonly canary: ArmView
  readonly verdict: Verdict
  readonly evidence: Pick<Judgement, 'rule' | 'metric' | 'reason' | 'metrics'>
  /** Estimated jobs on the new version and minutes until a verdict; null if unknown. */
  readonly needs: Judgement['needs']
  /** Jobs that failed permanently on the new version; `replayed` is how many of them were added to the queue again. */
  readonly casualties: { readonly recorded: number; readonly replayed: number }
  /** ISO 8601. */
  readonly startedAt: string
  readonly updatedAt: string
  readonly endedAt?: string
  readonly history: readonly CanaryEvent[]
}

/** An earlier canary of a worker. */
export interface PastCanary {
  readonly id: string
  readonly stable: string
  readonly canary: string
  readonly state: CanaryState
  /** ISO 8601. */
  readonly startedAt: string
  readonly endedAt: string
  readonly reason: string
  /** The most frequent errors of the new version. Absent without any. */
  readonly errors?: readonly CanaryError[]
}

export interface CanaryResult {
  readonly message: string
  readonly canary: CanaryView
  /** The operation that was requested of the processes, if any. */
  readonly operation?: OperationResult['operation']
}

/** The result of a replay. */
export interface ReplayResult extends CanaryResult {
  /** Jobs added to the queue again. */
  readonly replayed: number
  /** Jobs that were no longer failed, or no longer kept by the queue. */
  readonly left: number
  /** Jobs that may still be running on the version, at most; each is replayed when it fails. */
  readonly pending: number
}

export interface CanaryOptions {
  /** How long to wait until the processes have applied the change, in ms. Default 10000. */
  readonly waitMs?: number
  /** The actor. Default: the caller of the current request, else the app. */
  readonly actor?: Actor
}

/**
 * Canaries of workers: a new version gets a growing share of the jobs, is compared with the stable one, and is rolled back or promoted
 * automatically. Throws 404 WORKER_NOT_FOUND, 409 NO_CANARY, CANARY_IN_PROGRESS, CANARY_STATE.
 *
 * @example
 * import { definePlugin } from 'zin'
 * import { canaryService } from 'zin/plugins/canary'
 *
 * export const nightlyDeploy = definePlugin({
 *   name: 'nightly-deploy',
 *   version: '1.0.0',
 *   uses: { canaries: canaryService },
 *   setup: ({ services, hooks }) => {
 *     hooks.on('onReady', async () => {
 *       await services.canaries.start('emails', { newVersion: '2.0.0', trafficPercentage: 20, duration: 3_600_000 })
 *     })
 *   },
 * })
 */
export interface Canaries {
  start(worker: string, canary: StartCanary, options?: CanaryOptions): Promise<CanaryResult>
  /** Freezes the share of the jobs; jobs still run on the new version, and the canary is still evaluated. */
  pause(worker: string, options?: CanaryOptions): Promise<CanaryResult>
  resume(worker: string, options?: CanaryOptions): Promise<CanaryResult>
  /** Goes to the next step immediately; in the last step, does the same as {@link complete}. */
  promote(worker: string, options?: CanaryOptions): Promise<CanaryResult>
  /** Activates the new version for all jobs, whatever the verdict. */
  complete(worker: string, options?: CanaryOptions): Promise<CanaryResult>
  rollback(worker: string, options?: CanaryOptions & { readonly reason?: string }): Promise<CanaryResult>
  /**
   * Adds the jobs that failed permanently on the new version to the queue again; they run on the stable one. After a rollback it waits up to
   * `waitMs` for the jobs that were running then; those that fail later are replayed too.
   */
  replay(worker: string, options?: CanaryOptions): Promise<ReplayResult>
  /** Returns the active canary, else the last one. */
  status(worker: string): Promise<CanaryView>
  history(worker: string): Promise<{ readonly history: readonly CanaryEvent[]; readonly canaries: readonly PastCanary[] }>
}

export const canaryService = defineService<Canaries>('canary')
