import { bullPriority, isStorableText, type JobOptions, priorityOf } from 'zin/plugins/queues'
import { isAttempts, isBackoff } from '../record/checks.js'
import { isIntIn, isObject, type Problem, problem, unknownFields, unknownKeys } from '../record/problem.js'
import type { WorkerRecord } from '../record/record.js'
import type { EnqueueOptions, JobPlan } from './types.js'

export interface JobDefaults {
  /** `WORKER_RETRIES`. */
  readonly attempts: number
  /** `WORKER_PRIORITY`. */
  readonly priority: number
}

const maxDelayMs = 365 * 86_400_000
const code = 'INVALID_JOB_OPTIONS'

/** ms. */
export function isTimeout(value: unknown): value is number {
  return isIntIn(value, 1, 86_400_000)
}

/** Text that every store can keep. */
function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= maxLength && isStorableText(value)
}

function isDeduplication(value: unknown): boolean {
  if (!isObject(value) || unknownKeys(value, ['id', 'ttl']).length > 0) return false
  return isText(value.id, 128) && (value.ttl === undefined || isIntIn(value.ttl, 1, maxDelayMs))
}

const checks: Readonly<Record<keyof EnqueueOptions, { readonly fits: (value: unknown) => boolean; readonly rule: string }>> = {
  name: { fits: (value) => isText(value, 100), rule: 'text of 1 to 100 characters, without NUL and halves of surrogate pairs' },
  priority: { fits: (value) => priorityOf(value) !== undefined, rule: 'Critical, High, Normal, Low, or a whole number from 0 to 10' },
  attempts: { fits: isAttempts, rule: 'a whole number from 1 to 100' },
  backoff: { fits: isBackoff, rule: '{type: "fixed" or "exponential", delay: ms}' },
  delay: { fits: (value) => isIntIn(value, 0, maxDelayMs), rule: 'a whole number of ms, at most one year' },
  timeout: { fits: isTimeout, rule: 'a whole number of ms from 1 to 86400000' },
  deduplication: { fits: isDeduplication, rule: '{id: text as a name, of 1 to 128 characters, ttl?: ms from 1 to one year}' },
  subject: { fits: (value) => isText(value, 200), rule: 'text of 1 to 200 characters, without NUL and halves of surrogate pairs' },
}

/** All faults of the options of one job, which stand at `path`. Options in `without` are not allowed there. */
export function jobProblems(options: unknown, path = 'options', without: readonly (keyof EnqueueOptions)[] = []): readonly Problem[] {
  if (!isObject(options)) return [problem(path, code, `"${path}" must be an object`)]
  const found = Object.entries(checks)
    .filter(([key, { fits }]) => options[key] !== undefined && !fits(options[key]))
    .map(([key, { rule }]) => problem(`${path}.${key}`, code, `"${path}.${key}" must be ${rule}`))
  found.push(...unknownFields(options, Object.keys(checks), code, path))
  for (const key of without) {
    if (options[key] !== undefined) found.push(problem(`${path}.${key}`, code, `"${path}.${key}" cannot be used here`))
  }
  return found
}

/** Fills in what checked options leave open: the worker's own defaults, then the settings. */
export function jobPlanOf(record: WorkerRecord, options: EnqueueOptions, defaults: JobDefaults): JobPlan {
  const timeout = options.timeout ?? record.jobOptions.timeout
  return {
    name: options.name ?? record.name,
    priority: priorityOf(options.priority) ?? defaults.priority,
    attempts: options.attempts ?? record.jobOptions.attempts ?? defaults.attempts,
    backoff: options.backoff ?? record.jobOptions.backoff ?? { type: 'exponential', delay: 1000 },
    delay: options.delay ?? 0,
    ...(timeout !== undefined && { timeout }),
    ...(options.deduplication !== undefined && { deduplication: options.deduplication }),
    ...(options.subject !== undefined && { subject: options.subject }),
  }
}

/**
 * A plan as BullMQ takes it. It has no option for a time limit, and keeps keys that it does not know beside the job's other options
 * on both backends and in schedules: the wrapper of the processor reads the limit there.
 */
export function bullOptions({ name: _, priority, ...others }: JobPlan): JobOptions {
  return { ...others, priority: bullPriority(priority) }
}

/** Of the options of a child in a flow: the id of the flow's root. Kept as the time limit is. */
export const flowRootKey = 'flowRoot'

/** The id of the root of the flow that a job is a child in, at any depth; undefined for every other job. A route may keep flows together by it. */
export function flowRootOf({ opts }: { readonly opts: object }): string | undefined {
  const root = (opts as Readonly<Record<string, unknown>>)[flowRootKey]
  return typeof root === 'string' ? root : undefined
}

/** The time limit that `bullOptions` put there, ms. Whatever else stands there is no limit. */
export function timeoutOf(options: object): number | undefined {
  return 'timeout' in options && isTimeout(options.timeout) ? options.timeout : undefined
}
