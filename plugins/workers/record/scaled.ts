import { checkConcurrency } from './limits.js'
import { type Problem, problem } from './problem.js'
import type { WorkerRecord } from './record.js'

const longestReason = 500

/** All problems of the input of `scale`. */
export function scaleProblems(concurrency: unknown, reason: unknown): readonly Problem[] {
  const wrong = concurrency === null ? undefined : checkConcurrency(concurrency)
  const problems = wrong === undefined ? [] : [{ ...wrong, message: `${wrong.message}, or null to use the number in the record` }]
  return typeof reason === 'string' && reason.length <= longestReason
    ? problems
    : [...problems, problem('reason', 'INVALID_SCALE_REASON', `"reason" must be text of at most ${longestReason} characters`)]
}

/** Effective parallel jobs on one node: the scaled number, else the configured one. */
export function actingConcurrency({ concurrency, scaled }: Pick<WorkerRecord, 'concurrency' | 'scaled'>): number {
  return scaled?.concurrency ?? concurrency
}
