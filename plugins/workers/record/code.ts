import { type Check, fieldOf, isObject, isOneOf, type Problem, problem } from './problem.js'
import { checkProcessorPath } from './processor-path.js'
import { checkProcessorUrl, isUrl } from './processor-url.js'
import { isolations } from './record.js'

/** Accepts a function, a path, or an https URL. */
export const checkProcessor: Check = (value) => {
  if (typeof value === 'function') return undefined
  if (value === null || value === '')
    return problem(
      'processor',
      'MISSING_PROCESSOR_SPEC',
      '"processor" is empty; pass a file path or an https URL, or omit it and register one in code',
    )
  return typeof value === 'string' && isUrl(value) ? checkProcessorUrl('processor', value) : checkProcessorPath('processor', value)
}

/** Accepts a function, or a path. */
export const checkHealthCheck: Check = (value) => {
  if (typeof value === 'function') return undefined
  if (typeof value !== 'string' || value === '' || isUrl(value))
    return problem('healthCheck', 'INVALID_HEALTH_CHECK', '"healthCheck" must be the path of a file under a processor root')
  return checkProcessorPath('healthCheck', value)
}

export const checkIsolation: Check = (value) =>
  isOneOf(value, isolations) ? undefined : problem('isolation', 'INVALID_ISOLATION', `"isolation" must be one of ${isolations.join(', ')}`)

/** The problem of a processor and an isolation that cannot be combined. */
export function isolationProblem(input: unknown): Problem | undefined {
  const isolation = isObject(input) ? fieldOf(input, 'isolation') : undefined
  const processor = isObject(input) ? fieldOf(input, 'processor') : undefined
  if (isolation === undefined) return undefined
  if (typeof processor === 'function' && isolation !== 'inline')
    return problem('isolation', 'INVALID_ISOLATION', 'A processor that is a function can only run inline; pass a file path to isolate it')
  if (typeof processor === 'string' && isUrl(processor) && isolation !== 'process')
    return problem('isolation', 'INVALID_ISOLATION', 'A processor from a URL can only run with isolation "process"')
  return undefined
}
