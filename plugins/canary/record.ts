import type { Actor } from 'zin/plugins/ops'
import type { Baseline, Excused, Judgement, Step } from './judge/index.js'

export const canaryStates = [
  'PENDING',
  'RUNNING',
  'PAUSED',
  'PROMOTING',
  'SUCCEEDED',
  'ROLLING_BACK',
  'ROLLED_BACK',
  'FAILED_TO_START',
] as const
export type CanaryState = (typeof canaryStates)[number]

/**
 * `inconclusive`: no verdict in time, or stable fails as much. `gate`: its step, or a listener of `beforeCanaryPromote`, requires a manual decision. `nodes-missing`: a
 * process cannot load the version. `regression-observed`: it failed, and `autoRollback` is false. `sample-ratio`: it did not get its share of
 * the jobs. `awaiting-completion`: it passed, and `autoComplete` is false.
 */
export const pauseReasons = [
  'manual',
  'inconclusive',
  'gate',
  'nodes-missing',
  'regression-observed',
  'sample-ratio',
  'awaiting-completion',
] as const
export type PauseReason = (typeof pauseReasons)[number]

export interface CanaryStep extends Step {
  readonly gate?: boolean
}

/** A validated request, with defaults applied. */
export interface CanarySpec {
  readonly steps: readonly CanaryStep[]
  readonly autoRollback: boolean
  /** Undefined: the sequential test decides. */
  readonly successThreshold?: number
  readonly rollbackThreshold: number
  readonly inFlight: 'drain' | 'abort'
  readonly shield: boolean
  readonly stickyBy?: string
  readonly startTimeoutMs: number
  readonly pauseTimeoutMs: number
  readonly autoComplete: boolean
  readonly autoReplay: boolean
}

export interface Transition {
  /** ms since 1970. */
  readonly at: number
  readonly from: CanaryState | null
  readonly to: CanaryState
  readonly actor: Actor
  readonly reason: string
  /** The rule of an automatic action. */
  readonly rule?: string
  /** The judgement at that time; only the last one has its errors. */
  readonly evidence?: Pick<Judgement, 'verdict' | 'rule' | 'metric' | 'health' | 'counts' | 'errors'>
}

/** A canary as stored. Every change increments `generation`. Times are ms since 1970. */
export interface CanaryRecord {
  readonly id: string
  readonly generation: number
  readonly worker: string
  /** When the worker was created, ISO 8601: a later worker of the same name is another one. Absent in records of earlier versions of Zin. */
  readonly workerCreatedAt?: string
  readonly stable: string
  readonly canary: string
  readonly state: CanaryState
  readonly pausedFor?: PauseReason
  readonly spec: CanarySpec
  /** Index of the current step. */
  readonly step: number
  /** Time in the step and in total, without pauses, up to `since`; `since` is null while the canary is not running. */
  readonly time: { readonly stepMs: number; readonly totalMs: number; readonly since: number | null }
  /** Attempts that take longer are slow; null while too few jobs are known. */
  readonly slowMs: number | null
  readonly baseline?: Baseline
  /** Stable attempts of the last minutes before the canary. */
  readonly recent?: Baseline
  /** Set when an operator resumes it after an outage: these jobs are no sign of a further one. */
  readonly excused?: Excused
  /** Set when the canary ends. */
  readonly judgement?: Judgement
  readonly replayed: number
  /** Whether an operator replayed its casualties: jobs that were running then are replayed when they fail. */
  readonly replaysLater?: boolean
  readonly startedAt: number
  readonly updatedAt: number
  readonly endedAt?: number
  readonly history: readonly Transition[]
}
