import type { Actor } from 'zin/plugins/ops'
import type { Judgement } from './judge/index.js'
import type { CanaryRecord, CanaryState, PauseReason } from './record.js'

const next: Readonly<Record<CanaryState, readonly CanaryState[]>> = {
  PENDING: ['RUNNING', 'FAILED_TO_START', 'ROLLING_BACK'],
  RUNNING: ['RUNNING', 'PAUSED', 'PROMOTING', 'ROLLING_BACK'],
  PAUSED: ['RUNNING', 'PAUSED', 'PROMOTING', 'ROLLING_BACK'],
  PROMOTING: ['SUCCEEDED', 'PAUSED', 'ROLLING_BACK'],
  SUCCEEDED: [],
  ROLLING_BACK: ['ROLLED_BACK'],
  ROLLED_BACK: [],
  FAILED_TO_START: [],
}

/** Maximum number of transitions in a record: the first one and the most recent ones. */
export const mostTransitions = 200

export interface Move {
  readonly to: CanaryState
  readonly at: number
  readonly actor: Actor
  readonly reason: string
  /** Rule of an automatic action. */
  readonly rule?: string | undefined
  /** The judgement that led to the move. */
  readonly judgement?: Judgement | undefined
  /** See {@link CanaryRecord}. */
  readonly excused?: Judgement['counts'] | undefined
  readonly pausedFor?: PauseReason
  /** Index of the target step. Default: the current step. */
  readonly step?: number
  /** Whether to restart the time of the step. */
  readonly again?: boolean
}

export function isLive({ state }: Pick<CanaryRecord, 'state'>): boolean {
  return next[state].length > 0
}

/** Whether two canaries belong to the same worker, and not to one that was removed and created again. */
export function isOfSameWorker(one: CanaryRecord, other: CanaryRecord): boolean {
  const [a, b] = [one.workerCreatedAt, other.workerCreatedAt]
  return a === undefined || b === undefined || a === b
}

/** Whether jobs are routed to the new version. */
export function isServing({ state }: Pick<CanaryRecord, 'state'>): boolean {
  return state === 'RUNNING' || state === 'PAUSED' || state === 'PROMOTING'
}

export function mayGo(from: CanaryState, to: CanaryState): boolean {
  return next[from].includes(to)
}

/** Returns the time in the current step and in total until now, without pauses, in ms. */
export function timesOf({ time }: Pick<CanaryRecord, 'time'>, now: number): { readonly stepMs: number; readonly totalMs: number } {
  const more = time.since === null ? 0 : Math.max(0, now - time.since)
  return { stepMs: time.stepMs + more, totalMs: time.totalMs + more }
}

/** Returns the share of the jobs that the new version gets, 0–1. */
export function shareNow(record: Pick<CanaryRecord, 'state' | 'spec' | 'step'>): number {
  return isServing(record) ? (record.spec.steps[record.step]?.share ?? 0) : 0
}

/** Returns the record after a move. Throws if the state does not allow the move. */
export function moved(
  record: CanaryRecord,
  { actor, again = false, at, excused, judgement, pausedFor, reason, rule, step = record.step, to }: Move,
): CanaryRecord {
  if (!mayGo(record.state, to)) throw new Error(`a canary cannot go from ${record.state} to ${to}`)
  const { pausedFor: _, ...rest } = record
  const { stepMs, totalMs } = timesOf(record, at)
  const isNewStep = step !== record.step || again
  const evidence = judgement === undefined ? {} : { evidence: summaryOf(judgement) }
  const after: CanaryRecord = {
    ...rest,
    generation: record.generation + 1,
    state: to,
    ...(to === 'PAUSED' && pausedFor !== undefined ? { pausedFor } : {}),
    step,
    time: { stepMs: isNewStep ? 0 : stepMs, totalMs: again ? 0 : totalMs, since: to === 'RUNNING' ? at : null },
    ...(excused === undefined ? {} : { excused: { ...excused, at } }),
    updatedAt: at,
    history: trimmed([
      ...(judgement === undefined ? record.history : record.history.map(withoutErrors)),
      { at, from: record.state, to, actor, reason, ...(rule === undefined ? {} : { rule }), ...evidence },
    ]),
  }
  if (isLive(after)) return after
  return { ...after, endedAt: at, ...(judgement === undefined ? {} : { judgement }) }
}

function summaryOf({ verdict, rule, metric, health, counts, errors }: Judgement): NonNullable<CanaryRecord['history'][number]['evidence']> {
  return { verdict, rule, metric, health, counts, ...(errors === undefined ? {} : { errors }) }
}

/** Counts of errors only grow, so a later transition has them all. */
function withoutErrors({ evidence, ...transition }: CanaryRecord['history'][number]): CanaryRecord['history'][number] {
  if (evidence === undefined) return transition
  const { errors: _, ...rest } = evidence
  return { ...transition, evidence: rest }
}

function trimmed(history: CanaryRecord['history']): CanaryRecord['history'] {
  return history.length <= mostTransitions ? history : [...history.slice(0, 1), ...history.slice(1 - mostTransitions)]
}
