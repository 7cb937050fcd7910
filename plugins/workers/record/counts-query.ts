import type { CountsOptions } from '../contract.js'
import { refuse } from '../errors.js'
import type { CountsQuery } from '../shared/contract.js'
import { dayMs, minuteOf } from '../shared/keep.js'
import { namePattern } from './name.js'
import { isObject, type Problem, problem, unknownKeys } from './problem.js'

const hourMs = 3_600_000
const minuteMs = 60_000

/** Maximum number of names in one query, and of minutes that it reads, summed over its names. */
const mostNames = 1_000
const mostMinutes = 100_000

/** Returns the query with its defaults. Throws INVALID_COUNTS_QUERY for a malformed query, and for one that would overload a store. */
export function countsQuery(names: readonly string[], options: CountsOptions, now: number): CountsQuery {
  refuse(malformed(names, options))
  const { since = now - hourMs, byVersion = false, byMinute = false } = options
  refuse(outOfRange(new Set(names).size, since, now))
  return { since, byVersion, byMinute }
}

function malformed(names: unknown, options: unknown): readonly Problem[] {
  if (!Array.isArray(names) || names.length > mostNames || !names.every(isName))
    return [invalid('names', `"names" must be a list of at most ${mostNames} worker names`)]
  if (!isObject(options) || unknownKeys(options, ['since', 'byVersion', 'byMinute']).length > 0)
    return [invalid('options', 'the options are {since, byVersion, byMinute}')]
  const { since } = options
  if (since !== undefined && !Number.isFinite(since)) return [invalid('since', '"since" must be a time in ms since 1970')]
  return ['byVersion', 'byMinute']
    .filter((field) => options[field] !== undefined && typeof options[field] !== 'boolean')
    .map((field) => invalid(field, `"${field}" must be true or false`))
}

function outOfRange(names: number, since: number, now: number): readonly Problem[] {
  // Tolerates that the caller read the clock a little earlier.
  if (since < now - dayMs - minuteMs) return [invalid('since', '"since" must be at most 24 hours ago: counts are kept no longer')]
  const minutes = Math.ceil((now - minuteOf(since)) / minuteMs)
  if (names * minutes <= mostMinutes) return []
  const why = `${names} names over ${minutes} minutes exceed the limit of ${mostMinutes} (names times minutes)`
  return [invalid('since', `${why}; query fewer names at a time, or use a later "since"`)]
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && namePattern.test(name)
}

function invalid(field: string, message: string): Problem {
  return problem(field, 'INVALID_COUNTS_QUERY', `Counts of workers: ${message}`)
}
