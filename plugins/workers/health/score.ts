import type { CheckReport } from './check.js'

/** One reason for a lower score. */
export interface HealthTerm {
  /** `failed`, `failures`, `lost`, `check`, `nodes`, `queueAge`, `rollout`, or what a plugin calls it. */
  readonly name: string
  /** Points taken off, an integer 0–100. */
  readonly penalty: number
  /** What was measured, for people. */
  readonly reason: string
  /** The plugin that takes them off by `collectHealthTerms`; absent: workers itself. */
  readonly plugin?: string
}

/** What a listener of `collectHealthTerms` answers for a worker. */
export type PluginHealthTerm = Omit<HealthTerm, 'plugin'>

/** How well a worker does, and why. */
export interface HealthReport {
  /** Integer 0–100: 100 less all penalties. */
  readonly score: number
  /** What took points off; empty at 100. */
  readonly terms: readonly HealthTerm[]
  readonly monitored: boolean
  /** The last check of every process that runs the worker. */
  readonly checks: readonly (CheckReport & { readonly node: string })[]
}

/** What the score is made of; attempts of the last ten minutes over all processes. */
export interface HealthInputs {
  readonly failedState: boolean
  readonly completed: number
  readonly failed: number
  /** Of the failed: timed out, stalled, or their sandbox died. */
  readonly lost: number
  /** Failing checks, one per process at most. */
  readonly failingChecks: readonly string[]
  readonly nodes: number
  /** Of the nodes: those whose lease ended or that gave up. */
  readonly nodesDown: number
  /** How long the oldest job that could run has waited, ms; 0 when nothing waits or the worker should not run. */
  readonly oldestWaitingMs: number
  /** It should run, and no living process says anything of it. */
  readonly nobodyRuns: boolean
  /** Why the rollout of the version that was activated last halted. */
  readonly halted: string | undefined
}

/** A worker may fail this share of its attempts. */
const tolerated = 0.05
/** Jobs may wait this long, ms. */
const patienceMs = 60_000

/** Points that are taken off, each with its reason. Few attempts prove little, so a ratio counts by its lower bound. */
export function termsOf(inputs: HealthInputs): readonly HealthTerm[] {
  const { failedState, completed, failed, halted, lost, failingChecks, nobodyRuns, nodes, nodesDown, oldestWaitingMs } = inputs
  if (failedState) return [{ name: 'failed', penalty: 100, reason: 'It has failed; restart it to try again' }]
  if (nobodyRuns) return [{ name: 'nodes', penalty: 100, reason: 'It should run, and no living node runs it' }]
  const attempts = completed + failed
  const terms: HealthTerm[] = [
    { name: 'failures', penalty: 60 * excess(failed, attempts), reason: `${failed} of ${attempts} attempts failed in the last 10 minutes` },
    { name: 'lost', penalty: 20 * excess(lost, attempts), reason: `${lost} of ${attempts} attempts timed out, stalled or died` },
    { name: 'check', penalty: failingChecks.length > 0 ? 30 : 0, reason: `Its health check fails: ${failingChecks[0] ?? ''}` },
    {
      name: 'nodes',
      penalty: nodes === 0 ? 0 : 40 * (nodesDown / nodes),
      reason: `${nodesDown} of ${nodes} nodes are lost or could not start it`,
    },
    {
      name: 'queueAge',
      penalty: 20 * Math.min(1, Math.max(0, oldestWaitingMs / patienceMs - 1)),
      reason: `The oldest job has waited ${Math.round(oldestWaitingMs / 1000)} s`,
    },
    { name: 'rollout', penalty: halted === undefined ? 0 : 10, reason: `The rollout of the version activated last halted: ${halted}` },
  ]
  return terms.map((term) => ({ ...term, penalty: Math.round(term.penalty) })).filter((term) => term.penalty > 0)
}

export function scoreOf(terms: readonly HealthTerm[]): number {
  return Math.max(0, 100 - terms.reduce((sum, term) => sum + term.penalty, 0))
}

/** 0 when the ratio may be within what is tolerated, 1 when everything failed beyond doubt. */
function excess(count: number, of: number): number {
  return Math.max(0, (wilsonLowerBound(count, of) - tolerated) / (1 - tolerated))
}

/** Lower end of the 95 % interval of a proportion (Wilson 1927, "Probable inference"). */
export function wilsonLowerBound(count: number, of: number): number {
  if (of === 0) return 0
  const z = 1.96
  const p = count / of
  const centre = p + (z * z) / (2 * of)
  const spread = z * Math.sqrt((p * (1 - p)) / of + (z * z) / (4 * of * of))
  return Math.max(0, (centre - spread) / (1 + (z * z) / of))
}
