import { backoffFault, backoffRule } from 'zin/plugins/queues'
import { type Check, fieldOf, isIntIn, isObject, isOneOf, problem, unknownKeys } from './problem.js'
import type { Backoff, RateLimit } from './record.js'

const dayMs = 86_400_000

export const checkConcurrency: Check = (value) =>
  isIntIn(value, 1, 1000) ? undefined : problem('concurrency', 'INVALID_CONCURRENCY', '"concurrency" must be an integer from 1 to 1000')

/** Null: no limit. */
export const checkRateLimit: Check = (value) => {
  if (value === null) return undefined
  const fine = isObject(value) && unknownKeys(value, ['max', 'duration']).length === 0
  if (fine && isIntIn(fieldOf(value, 'max'), 1, 100_000) && isIntIn(fieldOf(value, 'duration'), 1, dayMs)) return undefined
  return problem('rateLimit', 'INVALID_LIMITER_CONFIG', '"rateLimit" must be {max: 1 to 100000, duration: 1 to 86400000 ms}')
}

/** The limit that allows fewer jobs over time. */
export function stricter(one: RateLimit | null | undefined, other: RateLimit | null | undefined): RateLimit | undefined {
  if (!one || !other) return one ?? other ?? undefined
  return one.max / one.duration <= other.max / other.duration ? one : other
}

/** Also used for the options of a single job. */
export function isBackoff(value: unknown): value is Backoff {
  return (
    isObject(value) &&
    unknownKeys(value, ['type', 'delay', 'max', 'jitter']).length === 0 &&
    isOneOf(fieldOf(value, 'type'), ['fixed', 'exponential']) &&
    isIntIn(fieldOf(value, 'delay'), 0, dayMs) &&
    (value.max === undefined || Number.isInteger(value.max)) &&
    backoffFault(value as unknown as Backoff) === undefined
  )
}

export function isAttempts(value: unknown): value is number {
  return isIntIn(value, 1, 100)
}

/** Timeout of one attempt, in ms. */
export function isTimeout(value: unknown): value is number {
  return isIntIn(value, 1, dayMs)
}

const jobOptions: Readonly<Record<string, (value: unknown) => boolean>> = { attempts: isAttempts, backoff: isBackoff, timeout: isTimeout }

export const checkJobOptions: Check = (value) => {
  const fine =
    isObject(value) &&
    unknownKeys(value, Object.keys(jobOptions)).length === 0 &&
    Object.entries(jobOptions).every(([key, fits]) => fieldOf(value, key) === undefined || fits(value[key]))
  if (fine) return undefined
  return problem(
    'jobOptions',
    'INVALID_JOB_OPTIONS',
    `"jobOptions" must be {attempts?: 1 to 100, backoff?: ${backoffRule}, timeout?: 1 to 86400000 ms}`,
  )
}
