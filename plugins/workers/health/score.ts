import type { CheckReport } from './check.js'

/** One reason for a lower score. */
export interface HealthTerm {
  /** `failed`, `failures`, `lost`, `check`, `nodes`, `queueAge`, `fetch`, `store`, `rollout`, or a name chosen by a plugin. */
  readonly name: string
  /** Points taken off, an integer 0–100. */
  readonly penalty: number
  /** Human-readable description of what was measured. */
  readonly reason: string
  /** The plugin that added the term with `collectHealthTerms`; absent for the plugin workers itself. */
  readonly plugin?: string
}

/** A term that a listener of `collectHealthTerms` returns for a worker. */
export type PluginHealthTerm = Omit<HealthTerm, 'plugin'>

/** The health score of a worker, and the reasons for it. */
export interface HealthReport {
  /** Integer 0–100: 100 minus all penalties. */
  readonly score: number
  /** The penalties and their reasons. */
  readonly terms: readonly HealthTerm[]
  readonly monitored: boolean
  /** The last health check on every node that runs the worker. */
  readonly checks: readonly (CheckReport & { readonly node: string })[]
}

/** The inputs of the score. Attempts are those of the last ten minutes on all nodes. */
export interface HealthInputs {
  readonly failedState: boolean
  readonly completed: number
  readonly failed: number
  /** Failed attempts that timed out, stalled, or whose thread or process died. */
  readonly lost: number
  /** Errors of failing health checks, at most one per node. */
  readonly failingChecks: readonly string[]
  readonly nodes: number
  /** Nodes whose lease ended, or on which the worker has failed. */
  readonly nodesDown: number
  /** Why a node takes no jobs although jobs wait; undefined if none has this problem. */
  readonly stuck: string | undefined
  /** Why jobs and their outcomes cannot be stored; undefined if they can. */
  readonly storeFault: string | undefined
  /** How long the oldest runnable job has waited, ms; 0 if no job waits or the worker should not run. */
  readonly oldestWaitingMs: number
  /** Whether the worker should run, but no live node reports it. */
  readonly nobodyRuns: boolean
  /** Why the rollout of the version that was activated last was halted; undefined if it was not. */
  readonly halted: string | undefined
}

/** Share of attempts that may fail without a penalty. */
const tolerated = 0.05
/** How long jobs may wait without a penalty, ms. */
const patienceMs = 60_000

/** Returns the penalties and their reasons. Few attempts prove little, so the lower bound of a ratio counts. */
export function termsOf(inputs: HealthInputs): readonly HealthTerm[] {
  const { failedState, completed, failed, halted, lost, failingChecks, nobodyRuns, nodes, nodesDown, oldestWaitingMs, storeFault, stuck } =
    inputs
  if (failedState) return [{ name: 'failed', penalty: 100, reason: 'It has failed; restart it to try again' }]
  if (nobodyRuns) return [{ name: 'nodes', penalty: 100, reason: 'It should run, but no live node runs it' }]
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
    { name: 'fetch', penalty: stuck === undefined ? 0 : 60, reason: stuck ?? '' },
    { name: 'store', penalty: storeFault === undefined ? 0 : 60, reason: storeFault ?? '' },
    { name: 'rollout', penalty: halted === undefined ? 0 : 10, reason: `The last rollout was halted: ${halted}` },
  ]
  return terms.map((term) => ({ ...term, penalty: Math.round(term.penalty) })).filter((term) => term.penalty > 0)
}

export function scoreOf(terms: readonly HealthTerm[]): number {
  return Math.max(0, 100 - terms.reduce((sum, term) => sum + term.penalty, 0))
}

/** Returns 0 if the ratio may be tolerable, and up to 1 if all attempts failed with certainty. */
function excess(count: number, of: number): number {
  return Math.max(0, (wilsonLowerBound(count, of) - tolerated) / (1 - tolerated))
}

/** Lower bound of the 95 % confidence interval of a proportion (Wilson 1927, "Probable inference"). */
export function wilsonLowerBound(count: number, of: number): number {
  if (of === 0) return 0
  const z = 1.96
  const p = count / of
  const centre = p + (z * z) / (2 * of)
  const spread = z * Math.sqrt((p * (1 - p)) / of + (z * z) / (4 * of * of))
  return Math.max(0, (centre - spread) / (1 + (z * z) / of))
}
