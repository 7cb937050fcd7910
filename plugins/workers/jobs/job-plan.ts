import { isAttempts, isBackoff } from '../record/checks.js'
import { isIntIn, isObject, type Problem, problem, unknownKeys } from '../record/problem.js'
import type { WorkerRecord } from '../record/record.js'
import type { EnqueueOptions, JobPlan } from '../types.js'
import { priorityOf } from './priority.js'

export interface JobDefaults {
  /** `WORKER_RETRIES`. */
  readonly attempts: number
  /** `WORKER_PRIORITY`. */
  readonly priority: number
}

const maxDelayMs = 365 * 86_400_000
const code = 'INVALID_JOB_OPTIONS'

const checks: Readonly<Record<keyof EnqueueOptions, { readonly fits: (value: unknown) => boolean; readonly rule: string }>> = {
  name: { fits: (value) => typeof value === 'string' && value.length >= 1 && value.length <= 100, rule: 'text of 1 to 100 characters' },
  priority: { fits: (value) => priorityOf(value) !== undefined, rule: 'Critical, High, Normal, Low, or a whole number from 0 to 10' },
  attempts: { fits: isAttempts, rule: 'a whole number from 1 to 100' },
  backoff: { fits: isBackoff, rule: '{type: "fixed" or "exponential", delay: ms}' },
  delay: { fits: (value) => isIntIn(value, 0, maxDelayMs), rule: 'a whole number of ms, at most one year' },
}

/** All faults of the options of one job. */
export function jobProblems(options: unknown): readonly Problem[] {
  if (!isObject(options)) return [problem('options', code, '"options" must be an object')]
  const found = Object.entries(checks)
    .filter(([key, { fits }]) => options[key] !== undefined && !fits(options[key]))
    .map(([key, { rule }]) => problem(`options.${key}`, code, `"options.${key}" must be ${rule}`))
  if (unknownKeys(options, Object.keys(checks)).length > 0) {
    found.push(problem('options', code, `"options" has a key that is not known; known ones: ${Object.keys(checks).join(', ')}`))
  }
  return found
}

/** Fills in what checked options leave open: the worker's own defaults, then the settings. */
export function jobPlanOf(record: WorkerRecord, options: EnqueueOptions, defaults: JobDefaults): JobPlan {
  return {
    name: options.name ?? record.name,
    priority: priorityOf(options.priority) ?? defaults.priority,
    attempts: options.attempts ?? record.jobOptions.attempts ?? defaults.attempts,
    backoff: options.backoff ?? record.jobOptions.backoff ?? { type: 'exponential', delay: 1000 },
    delay: options.delay ?? 0,
  }
}
