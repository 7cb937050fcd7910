import { mergeErrors } from '../failures/error-counts.js'
import { addLatest, mergeLatest } from './latest.js'
import type { Counts, Evidence, FirstAttempt } from './types.js'

/** Maximum number of job names that are compared separately; all other names form one stratum. */
export const maxStrata = 20

/** The stratum of all other job names. */
export const otherStratum = '*'

/** Returns empty evidence. */
export function emptyEvidence(): Evidence {
  return { cells: {} }
}

/** Adds an attempt to the evidence, in place. */
export function addAttempt(evidence: Evidence, attempt: FirstAttempt): void {
  const counts = countsAt(evidence, cellKey(attempt.step, attempt.arm, attempt.stratum), String(attempt.bucket))
  counts[0]++
  if (attempt.outcome === 'failed') counts[1]++
  if (attempt.outcome === 'lost') counts[4]++
  addLatest(evidence, attempt)
  if (attempt.slow === undefined) return
  counts[3]++
  if (attempt.slow) counts[2]++
}

/** Adds `more` to `evidence`, in place, and returns it. */
export function mergeEvidence(evidence: Evidence, more: Evidence): Evidence {
  for (const [key, cell] of Object.entries(more.cells)) {
    for (const [bucket, counts] of Object.entries(cell)) {
      const sum = countsAt(evidence, key, bucket)
      for (let i = 0; i < counts.length; i++) sum[i] = (sum[i] as number) + (counts[i] as number)
    }
  }
  mergeLatest(evidence, more)
  if (more.errors !== undefined) {
    evidence.errors ??= { stable: [], canary: [] }
    mergeErrors(evidence.errors, more.errors)
  }
  return evidence
}

/**
 * Returns the stratum of a job name: the name itself if it is one of `names` (at most {@link maxStrata}), else `*`.
 */
export function stratumOf(names: readonly string[], jobName: string): string {
  return names.includes(jobName) ? jobName : otherStratum
}

function cellKey(step: number, arm: string, stratum: string): string {
  return `${step}/${arm}/${stratum}`
}

function countsAt(evidence: Evidence, key: string, bucket: string): Counts {
  evidence.cells[key] ??= {}
  const cell = evidence.cells[key]
  cell[bucket] ??= [0, 0, 0, 0, 0]
  return cell[bucket]
}
