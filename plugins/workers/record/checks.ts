import type { Backoff } from '../types.js'
import { type Check, isIntIn, isObject, type Problem, problem, unknownKeys } from './problem.js'
import { checkProcessorPath } from './processor-path.js'
import { featureNames } from './record.js'

export const namePattern = /^[a-zA-Z0-9_-]{3,50}$/
const versionPattern = /^\d{1,9}\.\d{1,9}\.\d{1,9}$/
const nameRule = 'use 3 to 50 letters, digits, "_" or "-"'

export const checkName: Check = (value) =>
  typeof value === 'string' && namePattern.test(value)
    ? undefined
    : problem('name', 'INVALID_WORKER_NAME', `A worker's name must be text: ${nameRule}`)

const checkQueueName: Check = (value) =>
  typeof value === 'string' && namePattern.test(value)
    ? undefined
    : problem('queueName', 'INVALID_QUEUE_NAME', `"queueName" must be text: ${nameRule}`)

const checkProcessor: Check = (value) => {
  if (typeof value === 'function') return undefined
  if (value === null || value === '')
    return problem(
      'processor',
      'MISSING_PROCESSOR_SPEC',
      '"processor" is empty; give a file path, or leave it out and register one in code',
    )
  return checkProcessorPath('processor', value)
}

const checkConcurrency: Check = (value) =>
  isIntIn(value, 1, 1000) ? undefined : problem('concurrency', 'INVALID_CONCURRENCY', '"concurrency" must be a whole number from 1 to 1000')

const checkVersion: Check = (value) =>
  typeof value === 'string' && versionPattern.test(value)
    ? undefined
    : problem('version', 'INVALID_VERSION_FORMAT', '"version" must be three whole numbers joined by dots, such as "1.0.0"')

const checkActiveStatus: Check = (value) =>
  typeof value === 'boolean' ? undefined : problem('activeStatus', 'INVALID_ACTIVE_STATUS', '"activeStatus" must be true or false')

const checkAutoStart: Check = (value) =>
  typeof value === 'boolean' || value === null
    ? undefined
    : problem('autoStart', 'INVALID_AUTO_START', '"autoStart" must be true, false or null')

const checkFeatures: Check = (value) => {
  if (!isObject(value)) return problem('features', 'INVALID_FEATURES_TYPE', '"features" must be an object of booleans')
  const [unknown] = unknownKeys(value, featureNames)
  if (unknown !== undefined)
    return problem('features', 'INVALID_FEATURE', `"features" has an unknown name; known ones: ${featureNames.join(', ')}`)
  const wrong = Object.keys(value).find((name) => typeof value[name] !== 'boolean')
  return wrong === undefined
    ? undefined
    : problem(`features.${wrong}`, 'INVALID_FEATURE_VALUE', `"features.${wrong}" must be true or false`)
}

const checkRateLimit: Check = (value) => {
  const fine = isObject(value) && unknownKeys(value, ['max', 'duration']).length === 0
  if (fine && isIntIn(value.max, 1, 100_000) && isIntIn(value.duration, 1, 86_400_000)) return undefined
  return problem('rateLimit', 'INVALID_LIMITER_CONFIG', '"rateLimit" must be {max: 1 to 100000, duration: 1 to 86400000 ms}')
}

/** Shared with the options of a single job. */
export function isBackoff(value: unknown): value is Backoff {
  return (
    isObject(value) &&
    unknownKeys(value, ['type', 'delay']).length === 0 &&
    (value.type === 'fixed' || value.type === 'exponential') &&
    isIntIn(value.delay, 0, 86_400_000)
  )
}

export function isAttempts(value: unknown): value is number {
  return isIntIn(value, 1, 100)
}

const checkJobOptions: Check = (value) => {
  const fine =
    isObject(value) &&
    unknownKeys(value, ['attempts', 'backoff']).length === 0 &&
    (value.attempts === undefined || isAttempts(value.attempts)) &&
    (value.backoff === undefined || isBackoff(value.backoff))
  if (fine) return undefined
  return problem(
    'jobOptions',
    'INVALID_JOB_OPTIONS',
    '"jobOptions" must be {attempts?: 1 to 100, backoff?: {type: "fixed" or "exponential", delay: ms}}',
  )
}

const supportedDrivers = ['memory', 'kvstore', 'db']

function checkPersistence(value: unknown): Problem | undefined {
  const field = 'infrastructure.persistence'
  if (!isObject(value)) return problem(field, 'INVALID_PERSISTENCE_CONFIG', `"${field}" must be an object`)
  const [unknown] = unknownKeys(value, ['driver', 'connection', 'table', 'keyPrefix'])
  if (unknown !== undefined)
    return problem(field, 'INVALID_PERSISTENCE_CONFIG', `"${field}" takes driver, connection, table and keyPrefix only`)
  if (value.driver !== undefined && !supportedDrivers.includes(value.driver as string)) {
    return problem(`${field}.driver`, 'INVALID_PERSISTENCE_CONFIG', `"${field}.driver" must be one of ${supportedDrivers.join(', ')}`)
  }
  const wrong = ['connection', 'table', 'keyPrefix'].find((key) => value[key] !== undefined && typeof value[key] !== 'string')
  return wrong === undefined ? undefined : problem(`${field}.${wrong}`, 'INVALID_PERSISTENCE_CONFIG', `"${field}.${wrong}" must be text`)
}

const checkInfrastructure: Check = (value) => {
  if (!isObject(value)) return problem('infrastructure', 'INVALID_INFRASTRUCTURE', '"infrastructure" must be an object')
  if (unknownKeys(value, ['driver', 'redis', 'persistence']).length > 0) {
    return problem('infrastructure', 'INVALID_INFRASTRUCTURE', '"infrastructure" takes driver, redis and persistence only')
  }
  if (value.driver !== undefined && !['redis', 'kvstore', 'embedded'].includes(value.driver as string)) {
    return problem('infrastructure.driver', 'INVALID_INFRASTRUCTURE', '"infrastructure.driver" must be redis, kvstore or embedded')
  }
  const { redis } = value
  if (redis !== undefined && !(isObject(redis) && redis.env === true && Object.keys(redis).length === 1)) {
    return problem(
      'infrastructure.redis',
      'INVALID_REDIS_CONFIG',
      '"infrastructure.redis" must be {env: true}: workers use the connection of the app',
    )
  }
  return value.persistence === undefined ? undefined : checkPersistence(value.persistence)
}

/** Every field that a record takes, in the order they are checked. */
const fields: Readonly<Record<string, { readonly check: Check; readonly required?: true }>> = {
  name: { check: checkName, required: true },
  queueName: { check: checkQueueName, required: true },
  processor: { check: checkProcessor },
  concurrency: { check: checkConcurrency },
  activeStatus: { check: checkActiveStatus },
  autoStart: { check: checkAutoStart },
  version: { check: checkVersion },
  features: { check: checkFeatures },
  infrastructure: { check: checkInfrastructure },
  rateLimit: { check: checkRateLimit },
  jobOptions: { check: checkJobOptions },
}

/** All faults of what was given to `create`, in a fixed order. Empty: it is a valid `CreateWorker`. */
export function problemsOf(input: unknown): readonly Problem[] {
  if (!isObject(input)) return [problem('body', 'MISSING_OPTIONS', 'A worker is an object with at least name, queueName and processor')]
  const problems: Problem[] = []
  for (const [field, { check, required }] of Object.entries(fields)) {
    const value = input[field]
    const missing = value === undefined || (required === true && (value === null || value === ''))
    const found = !missing
      ? check(value)
      : required === true
        ? problem(field, 'MISSING_REQUIRED_FIELD', `"${field}" is missing`)
        : undefined
    if (found !== undefined) problems.push(found)
  }
  if (unknownKeys(input, Object.keys(fields)).length > 0) {
    problems.push(
      problem('body', 'UNKNOWN_FIELD', `The worker has a field that is not known; known ones: ${Object.keys(fields).join(', ')}`),
    )
  }
  return problems
}
