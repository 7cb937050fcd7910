import {
  backoffRule,
  bullPriority,
  deduplicationFault,
  deduplicationRule,
  isStorableText,
  type JobDeduplication,
  type JobOptions,
  jobIdFault,
  priorityOf,
} from 'zin/plugins/queues'
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

/** Whether a value is text that every store accepts. */
function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= maxLength && isStorableText(value)
}

function isDeduplication(value: unknown): value is JobDeduplication {
  if (!isObject(value) || unknownKeys(value, ['id', 'mode', 'ttl']).length > 0) return false
  return isText(value.id, 128) && deduplicationFault(value as unknown as JobDeduplication) === undefined
}

const checks: Readonly<Record<keyof EnqueueOptions, { readonly fits: (value: unknown) => boolean; readonly rule: string }>> = {
  name: { fits: (value) => isText(value, 100), rule: 'text of 1 to 100 characters without NUL or lone surrogates' },
  priority: { fits: (value) => priorityOf(value) !== undefined, rule: 'Critical, High, Normal, Low, or an integer from 0 to 10' },
  attempts: { fits: isAttempts, rule: 'an integer from 1 to 100' },
  backoff: { fits: isBackoff, rule: backoffRule },
  delay: { fits: (value) => isIntIn(value, 0, maxDelayMs), rule: 'an integer from 0 to 31536000000 (ms, one year)' },
  timeout: { fits: isTimeout, rule: 'an integer from 1 to 86400000 (ms)' },
  deduplication: { fits: isDeduplication, rule: deduplicationRule },
  jobId: {
    fits: (value) => typeof value === 'string' && jobIdFault(value) === undefined,
    rule: 'text of 1 to 200 characters without colons, control characters and lone surrogates, and neither a number nor a word that the queue uses',
  },
  subject: { fits: (value) => isText(value, 200), rule: 'text of 1 to 200 characters without NUL or lone surrogates' },
  onFailure: { fits: (value) => value === 'fail' || value === 'continue', rule: 'fail or continue' },
}

/** All problems of the options of one job at `path`. Options in `without` are not allowed: by default those of a child in a flow. */
export function jobProblems(
  options: unknown,
  path = 'options',
  without: readonly (keyof EnqueueOptions)[] = ['onFailure'],
): readonly Problem[] {
  if (!isObject(options)) return [problem(path, code, `"${path}" must be an object`)]
  const found = Object.entries(checks)
    .filter(([key, { fits }]) => options[key] !== undefined && !fits(options[key]))
    .map(([key, { rule }]) => problem(`${path}.${key}`, code, `"${path}.${key}" must be ${rule}`))
  found.push(...unknownFields(options, Object.keys(checks), code, path))
  const { deduplication, delay } = options
  if (isDeduplication(deduplication) && deduplicationFault(deduplication, Number(delay ?? 0)) !== undefined) {
    found.push(problem(`${path}.deduplication`, code, `"${path}.deduplication" must be ${deduplicationRule}`))
  }
  for (const key of without) {
    if (options[key] !== undefined) found.push(problem(`${path}.${key}`, code, `"${path}.${key}" cannot be used here`))
  }
  return found
}

/** Fills in what validated options leave open: from the defaults of the worker, then from the settings. */
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
    ...(options.jobId !== undefined && { jobId: options.jobId }),
    ...(options.subject !== undefined && { subject: options.subject }),
    ...(options.onFailure !== undefined && { onFailure: options.onFailure }),
  }
}

/**
 * Converts a plan to BullMQ options. BullMQ has no timeout option, but keeps unknown keys with the options of a job, on both backends and
 * in schedules; the wrapper of the processor reads the timeout there.
 */
export function bullOptions({ name: _, onFailure: _onlyInFlows, priority, ...others }: JobPlan): JobOptions {
  return { ...others, priority: bullPriority(priority) }
}

/** Key in the options of a child in a flow: the id of the flow's root. Stored like the timeout. */
export const flowRootKey = 'flowRoot'

/** The root id of the flow in which a job is a child, at any depth; undefined for any other job. A route can use it to keep flows together. */
export function flowRootOf({ opts }: { readonly opts: object }): string | undefined {
  const root = (opts as Readonly<Record<string, unknown>>)[flowRootKey]
  return typeof root === 'string' ? root : undefined
}

/** The timeout that `bullOptions` stored, in ms; undefined for any other value. */
export function timeoutOf(options: object): number | undefined {
  return 'timeout' in options && isTimeout(options.timeout) ? options.timeout : undefined
}
