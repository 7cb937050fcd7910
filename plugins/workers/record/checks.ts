import { checkHealthCheck, checkIsolation, checkProcessor, isolationProblem } from './code.js'
import { checkExtensions } from './extensions.js'
import { checkFeatures } from './features.js'
import { checkInfrastructure } from './infrastructure.js'
import { checkConcurrency, checkJobOptions, checkRateLimit } from './limits.js'
import { checkName, checkQueueName } from './name.js'
import { checkPlacement } from './placement.js'
import { type Check, fieldOf, isObject, missingField, type Problem, problem, unknownFields } from './problem.js'
import type { CreateWorker, RegisterVersion, UpdateWorker } from './record.js'
import { checkDescription, checkVersion } from './version.js'

export { isAttempts, isBackoff, isTimeout } from './limits.js'
export { checkName } from './name.js'
export { checkVersion } from './version.js'

interface Field {
  readonly check: Check
  /** Missing, null and empty text are refused with MISSING_REQUIRED_FIELD. */
  readonly required?: true
}

type Fields<T> = { readonly [K in keyof Required<T>]: Field }

const checkActiveStatus: Check = (value) =>
  typeof value === 'boolean' ? undefined : problem('activeStatus', 'INVALID_ACTIVE_STATUS', '"activeStatus" must be true or false')

const checkAutoStart: Check = (value) =>
  typeof value === 'boolean' || value === null
    ? undefined
    : problem('autoStart', 'INVALID_AUTO_START', '"autoStart" must be true, false or null')

/** Fields that an update can change, in the order of the checks. */
const changeable: Fields<UpdateWorker> = {
  queueName: { check: checkQueueName },
  concurrency: { check: checkConcurrency },
  activeStatus: { check: checkActiveStatus },
  autoStart: { check: checkAutoStart },
  features: { check: checkFeatures },
  extensions: { check: checkExtensions },
  rateLimit: { check: checkRateLimit },
  jobOptions: { check: checkJobOptions },
  isolation: { check: checkIsolation },
  placement: { check: checkPlacement },
}

const created: Fields<CreateWorker> = {
  name: { check: checkName, required: true },
  ...changeable,
  queueName: { check: checkQueueName, required: true },
  processor: { check: checkProcessor },
  healthCheck: { check: checkHealthCheck },
  version: { check: checkVersion },
  infrastructure: { check: checkInfrastructure },
}

const registered: Fields<RegisterVersion> = {
  version: { check: checkVersion, required: true },
  description: { check: checkDescription },
  processor: { check: checkProcessor },
  healthCheck: { check: checkHealthCheck },
}

/** Fields that an update cannot change, and what to do instead. */
const immutable: Readonly<Record<Exclude<keyof CreateWorker, keyof UpdateWorker>, string>> = {
  name: 'create a worker with the new name and remove this one',
  processor: 'register a version with the new processor and activate it',
  healthCheck: 'register a version with the new health check and activate it',
  version: 'register a version and activate it',
  infrastructure: 'remove the worker and create it again',
}

/** All problems of the input of `create`, in a fixed order. Empty: it is a valid `CreateWorker`. */
export function problemsOf(input: unknown): readonly Problem[] {
  const problems = faults(input, created, 'A worker must be an object with at least name and queueName')
  const together = problems.length === 0 ? isolationProblem(input) : undefined
  return together === undefined ? problems : [together]
}

/** All problems of the input of `update`. Empty: it is a valid `UpdateWorker`. */
export function updateProblems(input: unknown): readonly Problem[] {
  const fixed = isObject(input) ? Object.entries(immutable).filter(([field]) => fieldOf(input, field) !== undefined) : []
  const refused = fixed.map(([field, instead]) => problem(field, 'IMMUTABLE_FIELD', `"${field}" cannot be changed; ${instead}`))
  return [...refused, ...faults(input, changeable, 'An update must be an object with the new values of fields', Object.keys(immutable))]
}

/** All problems of the input of `registerVersion`. Empty: it is a valid `RegisterVersion`. */
export function versionProblems(input: unknown): readonly Problem[] {
  return faults(input, registered, 'A version must be an object with at least version')
}

function faults(input: unknown, fields: Readonly<Record<string, Field>>, shape: string, known: readonly string[] = []): readonly Problem[] {
  if (!isObject(input)) return [problem('body', 'MISSING_OPTIONS', shape)]
  const problems: Problem[] = []
  for (const [field, { check, required }] of Object.entries(fields)) {
    const value = fieldOf(input, field)
    const missing = value === undefined || (required === true && (value === null || value === ''))
    if (missing && required === true) problems.push(missingField(field))
    const found = missing ? undefined : check(value)
    if (found !== undefined) problems.push(found)
  }
  const names = Object.keys(fields)
  const unknown = unknownFields(input, names, 'UNKNOWN_FIELD').filter(({ field }) => !known.includes(field))
  return [...problems, ...unknown]
}
