import { defineService } from 'zin'
import type { Actor } from 'zin/plugins/ops'
import type { OperationResult } from 'zin/plugins/workers'
import type { Judgement, Verdict } from './judge/index.js'
import type { CanaryState, PauseReason } from './record.js'

/** What starts a canary. `newVersion`, `trafficPercentage` and `duration` are enough. */
export interface StartCanary {
  /** A registered version that is not the active one. */
  readonly newVersion: string
  /** Largest share of the jobs that the version gets, above 0 and at most 100. Default: that of the last step. */
  readonly trafficPercentage?: number
  /** Of all steps together, ms, up to 30 days. */
  readonly duration: number
  /** False: a failing canary is paused instead. Default true. */
  readonly autoRollback?: boolean
  /** Health score 0–100 above which the canary must be with certainty to be promoted. Default 50. */
  readonly successThreshold?: number
  /** Health score 0–100 below which a canary that is worse with certainty fails. Default 50. */
  readonly rollbackThreshold?: number
  /** Rising shares in percent, at most 20. Default 1, 5, 10, 25 and 50 as far as they are below `trafficPercentage`, then that. */
  readonly steps?: readonly (number | CanaryStepSpec)[]
  /** Running jobs of the version at a rollback: they end (`drain`, default), or go back to the queue without using up an attempt (`abort`). */
  readonly inFlight?: 'drain' | 'abort'
  /** An attempt that fails on the version goes back to the queue without being used up, and runs on the stable one. Default false. */
  readonly shield?: boolean
  /** Path in the data of a job, such as `tenant.id`: jobs of one value go the same way. Default: flow, deduplication id, job id. */
  readonly stickyBy?: string
  /** How long the processes may take to load the version, ms. Default 60000. */
  readonly startTimeout?: number
  /** How long it may be paused before it is rolled back, ms. Default 86400000 (one day). */
  readonly pauseTimeout?: number
  /** False: it is paused when it could be promoted. Default true. */
  readonly autoComplete?: boolean
  /** After a rollback, jobs that failed for good on the version are added to the queue again. Default false. */
  readonly autoReplay?: boolean
  /** Also a version that was refused. Default false. */
  readonly force?: boolean
}

/** One step of a canary. */
export interface CanaryStepSpec {
  /** Share of the jobs, above 0 and at most 100. */
  readonly trafficPercentage: number
  /** ms. Default: an equal part of the canary's duration. */
  readonly duration?: number
  /** First attempts of the version that must end in it, 1–1,000,000. */
  readonly minJobs?: number
  /** The canary is paused at its end, until somebody resumes it. Default false. */
  readonly gate?: boolean
}

/** One transition. */
export interface CanaryEvent {
  /** ISO 8601. */
  readonly at: string
  /** Null: it was started. */
  readonly from: CanaryState | null
  /** As `from`: it went to another step. */
  readonly to: CanaryState
  readonly actor: Actor
  readonly reason: string
}

/** One version of a canary: first attempts. */
export interface ArmView {
  readonly version: string
  readonly jobs: number
  readonly failed: number
  readonly slow: number
  readonly lost: number
}

/** A canary as the API shows it. */
export interface CanaryView {
  readonly id: string
  readonly worker: string
  readonly state: CanaryState
  /** While it is paused. */
  readonly pausedFor?: PauseReason
  /** 0–100; 50 is worse than stable by what is tolerated. */
  readonly health: number
  /** Share of the jobs that the version gets now, in percent; 0 before and after. */
  readonly trafficPercentage: number
  /** From 1. */
  readonly step: number
  readonly steps: readonly (Required<Pick<CanaryStepSpec, 'trafficPercentage' | 'duration'>> & CanaryStepSpec)[]
  readonly stable: ArmView
  readonly canary: ArmView
  readonly verdict: Verdict
  readonly evidence: Pick<Judgement, 'rule' | 'metric' | 'reason' | 'metrics'>
  /** Jobs of the version and minutes until a verdict; null: unknown. */
  readonly needs: Judgement['needs']
  /** Jobs that failed for good on the version; `replayed`: of those, added to the queue again. */
  readonly casualties: { readonly recorded: number; readonly replayed: number }
  /** ISO 8601. */
  readonly startedAt: string
  readonly updatedAt: string
  readonly endedAt?: string
  readonly history: readonly CanaryEvent[]
}

/** A canary that ended before the last one began. */
export interface PastCanary {
  readonly id: string
  readonly stable: string
  readonly canary: string
  readonly state: CanaryState
  /** ISO 8601. */
  readonly startedAt: string
  readonly endedAt: string
  readonly reason: string
}

export interface CanaryResult {
  readonly message: string
  readonly canary: CanaryView
  /** What was asked of the processes; absent: nothing. */
  readonly operation?: OperationResult['operation']
}

export interface CanaryOptions {
  /** How long to wait until the processes have applied it, in ms. Default 10000. */
  readonly waitMs?: number
  /** Who asks. Default: who makes the request, else this plugin. */
  readonly actor?: Actor
}

/**
 * Canaries of workers: a new version gets a growing share of the jobs, is compared with the stable one, and is rolled back or promoted by
 * itself. Throws 404 WORKER_NOT_FOUND, 409 NO_CANARY, CANARY_IN_PROGRESS, CANARY_STATE.
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
  /** Freezes the share; its jobs go on, and so does the judge. */
  pause(worker: string, options?: CanaryOptions): Promise<CanaryResult>
  resume(worker: string, options?: CanaryOptions): Promise<CanaryResult>
  /** Goes to the next step at once; from the last one as {@link complete}. */
  promote(worker: string, options?: CanaryOptions): Promise<CanaryResult>
  /** Activates the version for all jobs, whatever the verdict is. */
  complete(worker: string, options?: CanaryOptions): Promise<CanaryResult>
  rollback(worker: string, options?: CanaryOptions & { readonly reason?: string }): Promise<CanaryResult>
  /** Adds the jobs that failed for good on the version to the queue again; they run on the stable one. */
  replay(worker: string, options?: CanaryOptions): Promise<CanaryResult & { readonly replayed: number; readonly left: number }>
  /** The canary that is on, else the last one. */
  status(worker: string): Promise<CanaryView>
  history(worker: string): Promise<{ readonly history: readonly CanaryEvent[]; readonly canaries: readonly PastCanary[] }>
}

export const canaryService = defineService<Canaries>('canary')
