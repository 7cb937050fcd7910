import { type ErrorFactory, suggest, ZinError } from 'zin'
import { canaryErrors } from './errors.js'
import { ladder } from './judge/index.js'
import type { CanarySpec, CanaryStep } from './record.js'

/** A validated request. */
export interface StartPlan {
  readonly version: string
  readonly spec: CanarySpec
  readonly force: boolean
}

type Fields = Readonly<Record<string, unknown>>

const dayMs = 86_400_000
const longestMs = 30 * dayMs
const mostSteps = 20
const mostMinJobs = 1_000_000
/** Maximum length of an unknown name in a message. */
const mostShown = 100
const known = [
  'newVersion',
  'trafficPercentage',
  'duration',
  'autoRollback',
  'successThreshold',
  'rollbackThreshold',
  'steps',
  'inFlight',
  'shield',
  'stickyBy',
  'startTimeout',
  'pauseTimeout',
  'autoComplete',
  'autoReplay',
  'force',
]
const stepKeys = ['trafficPercentage', 'duration', 'minJobs', 'gate']
const path = /^[A-Za-z0-9_$-]{1,50}(\.[A-Za-z0-9_$-]{1,50}){0,9}$/
const versionFormat = /^\d{1,9}\.\d{1,9}\.\d{1,9}$/

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)
const isPercent = (value: unknown): value is number => typeof value === 'number' && value > 0 && value <= 100
const isScore = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 100
const isMs = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= longestMs

/** Validates a start request and applies defaults. Throws one error with all problems; its code is that of the first problem. */
export function startPlan(input: unknown): StartPlan {
  if (!isObject(input)) throw canaryErrors.INVALID_CANARY('the request must be an object with newVersion, trafficPercentage and duration')
  const faults = faultsOf(input)
  const [first] = faults
  if (first !== undefined)
    throw new ZinError(first.code, first.message, { status: 400, title: 'Invalid canary', details: faults.map(faultView) })
  const { newVersion, trafficPercentage, duration, force = false, ...rest } = input as Fields & { newVersion: string; duration: number }
  const steps = stepsOf(rest.steps as readonly unknown[] | undefined, trafficPercentage as number | undefined, duration)
  return {
    version: newVersion,
    force: force === true,
    spec: {
      steps,
      autoRollback: rest.autoRollback !== false,
      ...(rest.successThreshold === undefined ? {} : { successThreshold: rest.successThreshold as number }),
      rollbackThreshold: (rest.rollbackThreshold as number | undefined) ?? 50,
      inFlight: rest.inFlight === 'abort' ? 'abort' : 'drain',
      shield: rest.shield === true,
      ...(rest.stickyBy === undefined ? {} : { stickyBy: rest.stickyBy as string }),
      startTimeoutMs: (rest.startTimeout as number | undefined) ?? 60_000,
      pauseTimeoutMs: (rest.pauseTimeout as number | undefined) ?? dayMs,
      autoComplete: rest.autoComplete !== false,
      autoReplay: rest.autoReplay === true,
    },
  }
}

interface Fault {
  readonly field: string
  readonly code: string
  readonly message: string
}

const faultView = ({ code, field, message }: Fault) => ({ field, code, message })

function faultsOf(input: Fields): readonly Fault[] {
  const faults: Fault[] = []
  const demand = (fine: boolean, field: string, error: ErrorFactory, rule: string): void => {
    if (!fine) faults.push({ field, code: error.code, message: `"${field}" must be ${rule}` })
  }
  const optional = (field: string, fits: (value: unknown) => boolean, error: ErrorFactory, rule: string): void =>
    demand(input[field] === undefined || fits(input[field]), field, error, rule)
  const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
  const { newVersion, trafficPercentage, duration, steps } = input
  demand(
    typeof newVersion === 'string' && versionFormat.test(newVersion),
    'newVersion',
    canaryErrors.INVALID_CANARY_VERSION,
    'a registered version such as "1.1.0"',
  )
  demand(
    isPercent(trafficPercentage) || (trafficPercentage === undefined && steps !== undefined),
    'trafficPercentage',
    canaryErrors.INVALID_TRAFFIC_PERCENTAGE,
    'a number above 0 and at most 100',
  )
  demand(isMs(duration), 'duration', canaryErrors.INVALID_DURATION, `a whole number of ms from 1 to ${longestMs}`)
  for (const field of ['successThreshold', 'rollbackThreshold'])
    optional(field, isScore, canaryErrors.INVALID_THRESHOLD, 'a health score from 0 to 100')
  if (steps !== undefined) {
    const problem = stepsProblem(steps, trafficPercentage)
    if (problem !== undefined) faults.push({ field: 'steps', code: canaryErrors.INVALID_STEPS.code, message: problem })
  }
  const invalid = canaryErrors.INVALID_CANARY
  for (const field of ['autoRollback', 'shield', 'autoComplete', 'autoReplay', 'force'])
    optional(field, isBoolean, invalid, 'true or false')
  for (const field of ['startTimeout', 'pauseTimeout']) optional(field, isMs, invalid, `a whole number of ms from 1 to ${longestMs}`)
  optional('inFlight', (value) => value === 'drain' || value === 'abort', invalid, '"drain" or "abort"')
  const isPath = (value: unknown): boolean => typeof value === 'string' && path.test(value)
  optional('stickyBy', isPath, invalid, 'a path in the data of a job, such as "tenant.id"')
  const unknown = unknownKey(input, known)
  if (unknown !== undefined) faults.push({ field: unknown.key, code: invalid.code, message: unknown.message })
  return faults
}

/** Returns the first unknown key, with a message. */
function unknownKey(value: Fields, names: readonly string[]): { readonly key: string; readonly message: string } | undefined {
  const key = Object.keys(value)
    .find((one) => !names.includes(one))
    ?.slice(0, mostShown)
  if (key === undefined) return undefined
  const near = suggest(key, names)
  return {
    key,
    message: `"${key}" is not a known field; ${near === undefined ? `known fields: ${names.join(', ')}` : `did you mean "${near}"?`}`,
  }
}

function stepsProblem(steps: unknown, target: unknown): string | undefined {
  if (!Array.isArray(steps) || steps.length === 0 || steps.length > mostSteps) return `"steps" must be a list of 1 to ${mostSteps} steps`
  let before = 0
  for (const [at, step] of steps.entries()) {
    const problem = stepProblem(step)
    if (problem !== undefined) return `"steps[${at}]" ${problem}`
    const share = shareOf(step)
    if (share <= before) return `"steps" must be ascending, but step ${at + 1} is ${share} % after ${before} %`
    before = share
  }
  if (isPercent(target) && before > target) return `"steps" go up to ${before} %, above "trafficPercentage" of ${target} %`
  return undefined
}

function stepProblem(step: unknown): string | undefined {
  if (isPercent(step)) return undefined
  if (!isObject(step)) return 'must be a percentage above 0 and at most 100, or {trafficPercentage, duration?, minJobs?, gate?}'
  const { duration, gate, minJobs, trafficPercentage } = step
  const unknown = unknownKey(step, stepKeys)
  if (unknown !== undefined) return `has an unknown field: ${unknown.message}`
  if (!isPercent(trafficPercentage)) return 'must have a "trafficPercentage" above 0 and at most 100'
  if (duration !== undefined && !isMs(duration)) return `must have a "duration" from 1 to ${longestMs} ms`
  const jobs = minJobs === undefined || (Number.isSafeInteger(minJobs) && (minJobs as number) >= 1 && (minJobs as number) <= mostMinJobs)
  if (!jobs) return `must have a "minJobs" from 1 to ${mostMinJobs}`
  return gate === undefined || typeof gate === 'boolean' ? undefined : 'must have a "gate" of true or false'
}

function shareOf(step: unknown): number {
  return typeof step === 'number' ? step : (step as { readonly trafficPercentage: number }).trafficPercentage
}

function stepsOf(given: readonly unknown[] | undefined, target: number | undefined, duration: number): readonly CanaryStep[] {
  if (given === undefined) return ladder(target ?? 100, duration)
  const last = shareOf(given.at(-1))
  const all = target === undefined || last === target ? given : [...given, target]
  return all.map((step) => {
    const { duration: own, gate, minJobs } = (isObject(step) ? step : {}) as { duration?: number; gate?: boolean; minJobs?: number }
    return {
      share: shareOf(step) / 100,
      minDurationMs: own ?? duration / all.length,
      ...(minJobs === undefined ? {} : { minJobs }),
      ...(gate === true ? { gate } : {}),
    }
  })
}
