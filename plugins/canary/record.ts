import type { Actor } from 'zin/plugins/ops'
import type { Baseline, Judgement, Step } from './judge/index.js'

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
 * `inconclusive`: no verdict in time. `gate`: its step, or a listener of `beforeCanaryPromote`, wants a person to look. `nodes-missing`: a
 * process cannot load the version. `regression-observed`: it fails, and may not roll back by itself. `sample-ratio`: it did not get its
 * share. `awaiting-completion`: it passed, and may not promote itself.
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

/** A checked request with its defaults. */
export interface CanarySpec {
  readonly steps: readonly CanaryStep[]
  readonly autoRollback: boolean
  readonly successThreshold: number
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
  /** What the judge said then. */
  readonly evidence?: Pick<Judgement, 'verdict' | 'rule' | 'metric' | 'health' | 'counts'>
}

/** A canary as it is stored. Every change adds one to `generation`. Times are ms since 1970. */
export interface CanaryRecord {
  readonly id: string
  readonly generation: number
  readonly worker: string
  readonly stable: string
  readonly canary: string
  readonly state: CanaryState
  readonly pausedFor?: PauseReason
  readonly spec: CanarySpec
  /** Index of the step. */
  readonly step: number
  /** Time in the step and in all, without pauses, up to `since`; null: it does not run. */
  readonly time: { readonly stepMs: number; readonly totalMs: number; readonly since: number | null }
  /** An attempt that runs longer is slow; null: too few jobs are known. */
  readonly slowMs: number | null
  readonly baseline?: Baseline
  /** Set when it ends. */
  readonly judgement?: Judgement
  readonly replayed: number
  readonly startedAt: number
  readonly updatedAt: number
  readonly endedAt?: number
  readonly history: readonly Transition[]
}
