import { durationText } from 'zin'
import { type Judgement, nextMove } from './judge/index.js'
import { timesOf } from './machine.js'
import type { CanaryRecord, PauseReason } from './record.js'

/** The next action of the controller on a canary that gets jobs. */
export type Act =
  | { readonly kind: 'stay' }
  | { readonly kind: 'advance' | 'promote' | 'rollback'; readonly reason: string; readonly rule: string }
  | { readonly kind: 'pause'; readonly pausedFor: PauseReason; readonly reason: string; readonly rule: string }

export interface Seen {
  readonly now: number
  readonly judgement: Judgement
  /** First attempts on the new version that ended in the current step. */
  readonly stepJobs: number
  /** Nodes that cannot load the version, with the reason. */
  readonly missing: readonly { readonly node: string; readonly error: string }[]
}

const stay: Act = { kind: 'stay' }
/** The rule of rollbacks that say nothing about the version. */
export const pauseTimeout = 'canary/pause-timeout'

/** Decides what to do with a running or paused canary. */
export function nextAct(record: CanaryRecord, seen: Seen): Act {
  const { judgement, now } = seen
  const paused = record.state === 'PAUSED'
  if (judgement.verdict === 'FAIL') {
    const { reason, rule } = judgement
    if (record.spec.autoRollback) return { kind: 'rollback', reason, rule }
    return paused ? timeOut(record, now) : { kind: 'pause', pausedFor: 'regression-observed', reason, rule }
  }
  return paused ? timeOut(record, now) : ofRunning(record, seen)
}

function ofRunning(record: CanaryRecord, { judgement, missing, now, stepJobs }: Seen): Act {
  const [lost] = missing
  if (lost !== undefined) {
    const reason = `${lost.node} cannot run version ${record.canary}: ${lost.error}`
    return { kind: 'pause', pausedFor: 'nodes-missing', reason, rule: 'canary/nodes' }
  }
  const { reason, rule, verdict } = judgement
  const { steps } = record.spec
  const move = nextMove(verdict, {
    steps,
    step: record.step,
    stepJobs,
    lacksJobs: rule === 'canary/no-data',
    isFailing: rule === 'canary/failing',
    ...timesOf(record, now),
  })
  switch (move) {
    case 'stay':
      return stay
    case 'rollback':
      return { kind: 'rollback', reason, rule }
    case 'pause':
      return { kind: 'pause', pausedFor: verdict === 'SAMPLE_RATIO' ? 'sample-ratio' : 'inconclusive', reason, rule }
    case 'promote':
      if (!record.spec.autoComplete) return { kind: 'pause', pausedFor: 'awaiting-completion', reason, rule }
      return { kind: 'promote', reason, rule }
    case 'advance':
      return steps[record.step]?.gate === true ? gate(record.step + 1) : { kind: 'advance', reason: stepReason(record, stepJobs), rule }
  }
}

function gate(step: number): Act {
  return { kind: 'pause', pausedFor: 'gate', reason: `Step ${step} ends with a gate`, rule: 'canary/gate' }
}

function stepReason({ spec, step }: CanaryRecord, jobs: number): string {
  const percent = percentOf(spec.steps[step + 1]?.share ?? 0)
  return `The canary gets ${percent} % of the jobs: step ${step + 1} of ${spec.steps.length} ended after ${jobs} canary jobs`
}

function timeOut({ history, spec }: CanaryRecord, now: number): Act {
  const since = history.at(-1)?.at ?? now
  if (!spec.autoRollback || now - since < spec.pauseTimeoutMs) return stay
  const reason = `It was paused for ${durationText(now - since)} without a decision`
  return { kind: 'rollback', reason, rule: pauseTimeout }
}

/** Converts a share to percent, without floating-point rounding errors. */
export function percentOf(share: number): number {
  return Number((share * 100).toPrecision(10))
}
